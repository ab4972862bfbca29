"""Folds: permutation of their labels, checks for valid p-values, and means over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
    cross_validate,
)
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_rankinf._estimation import limits
from sklearn_rankinf._permutation import (
    AnyExchange,
    Exchange,
    few_labellings,
    in_parallel,
    log_n_labellings,
)
from sklearn_rankinf._ranking import (
    Design,
    Fold,
    Sample,
    folds_of,
    numbered,
    read_splits,
    rows,
    warn_caller,
)
from sklearn_rankinf._statistics import Floats, Integers, log10_of

# Number of random labellings for a check of similar labels: if none of them has as few unequal
# neighbours as the observed labels, single labels are not exchangeable.
_N_DRAWS = 99


# Labels.


def sample_of_labels(y: Any, **design: Any) -> Sample:
    """Numbers of labels of any kind, and the design of their sample."""
    labels = y.toarray() if sparse.issparse(y) else np.asarray(y)
    axis = 0 if labels.ndim > 1 else None
    kinds = np.unique(labels, axis=axis, return_inverse=True)[1].reshape(-1, 1)
    return Sample(kinds, (), [], Design.read(len(kinds), **design))


def permuted(y: Any, exchange: AnyExchange | None, rng: np.random.Generator) -> Any:
    """Return a random permutation of the labels under the null hypothesis."""
    if exchange is None:
        return rows(y, rng.permutation(len(y) if isinstance(y, list | tuple) else y.shape[0]))
    return rows(y, exchange.draw_rows(1, rng)[0])


def check_groups(sample: Sample, groups: Any) -> None:
    """Raise an error if labels are constant within groups; warn if they are similar.

    Nothing is checked if strata, clusters or order are given.
    """
    if groups is None or sample.design.restrictions or np.ptp(sample.kinds) == 0:
        return
    codes, names = numbered(groups, "groups", "group", sample.n_items)
    if len(names) == codes.size:
        return

    def n_unlike(kinds: Integers) -> int:
        """Twice the number of pairs in a group with different labels, minus a constant."""
        _, counts = np.unique(codes * kinds.size + kinds, return_counts=True)
        return -int(np.sum(counts**2))

    if n_unlike(sample.kinds) == -int(np.sum(np.bincount(codes) ** 2)):
        raise ValueError(
            "The labels are constant within groups, but groups only affect the splits: "
            "permuting the labels of single items would make p-values far too small. Pass "
            "clusters=groups, which permutes the labels of whole groups."
        )
    if _is_rare(n_unlike, sample.kinds, np.zeros_like(codes)):
        warn_caller(
            "The labels are more similar within groups than random labels, but groups only "
            "affect the splits: permuting labels across groups makes p-values too small if "
            "scores of a group are similar too. Pass strata=groups, which permutes labels only "
            "within groups, or clusters, whose items have the same label.",
            UserWarning,
        )


def check_folds(sample: Sample, folds: Sequence[Fold]) -> None:
    """Raise an error or warn if the p-values of folds would not be valid."""
    check_clusters_are_whole(sample, folds)
    _check_series_are_whole(sample, folds)
    _check_labellings(sample, folds)
    _warn_of_unshuffled_folds(sample, folds)
    _warn_of_series(sample, folds)


def _check_labellings(sample: Sample, folds: Sequence[Fold]) -> None:
    """Raise an error if no fold has anything to permute; warn if folds have few labellings."""
    if not sample.design.restrictions:
        return
    parts = [sample.of_rows(fold.test) for fold in folds]
    logs = np.array([log_n_labellings(part) for part in parts])
    several = np.array([np.ptp(part.kinds) > 0 for part in parts])
    if several.any() and np.all(logs == 0.0):
        raise ValueError(
            f"{sample.design.named} leave no labelling of any fold but the observed one, so there "
            "is nothing to permute: use fewer folds, or folds of clusters of equal sizes."
        )
    few = [
        number for number in np.flatnonzero(several) if few_labellings(parts[number]) is not None
    ]
    if few:
        least = round(math.exp(logs[few].min()))
        warn_caller(
            f"{sample.design.named} leave few different labellings in {len(few)} of {len(folds)} "
            f"folds ({', '.join(map(str, few))}; the smallest number is {least}). The p-value of a "
            "fold is at least 1 divided by this number: use fewer folds.",
            UserWarning,
        )


def _warn_of_unshuffled_folds(sample: Sample, folds: Sequence[Fold]) -> None:
    """Warn about folds that depend on the labels and on the order of the rows."""
    number = np.full(sample.n_items, -1)
    for index, fold in enumerate(folds):
        number[fold.test] = index
    held_out = np.flatnonzero(number >= 0)
    # Stratified folds without shuffling assign the rows of each class in order.
    order = held_out[np.lexsort((held_out, sample.kinds[held_out]))]
    is_next = np.diff(sample.kinds[order]) == 0
    in_order = np.all(np.diff(number[order])[is_next] >= 0)
    if in_order and not _are_contiguous(folds):
        warn_caller(
            "The folds are stratified without shuffling: they depend on the labels and the "
            "order of the rows, and their p-values are far too small if scores are related to "
            "this order. Pass a splitter with shuffle=True, unless the rows are already in "
            "random order.",
            UserWarning,
        )


def _warn_of_series(sample: Sample, folds: Sequence[Fold]) -> None:
    """Warn about folds of consecutive rows in which consecutive labels are similar."""
    if sample.design.restrictions or not _are_contiguous(folds):
        return
    held_out = np.concatenate([fold.test for fold in folds])
    fold_of = np.repeat(np.arange(len(folds)), [fold.test.size for fold in folds])
    in_one = fold_of[1:] == fold_of[:-1]

    def n_unlike(kinds: Integers) -> int:
        """Successive rows of a fold with different labels."""
        return int(np.sum((kinds[1:] != kinds[:-1]) & in_one))

    if _is_rare(n_unlike, sample.kinds[held_out], fold_of):
        warn_caller(
            "The folds consist of consecutive rows, and consecutive labels are more similar "
            "than random labels, as in a time series: p-values are too small if consecutive "
            "scores are similar too. Pass order=, the time or position of each row, to shift "
            "the labels along the series instead.",
            UserWarning,
        )


def _check_series_are_whole(sample: Sample, folds: Sequence[Fold]) -> None:
    """Raise an error if a fold holds out items that are not consecutive in a series."""
    if sample.design.positions is None:
        return
    position, series = _places_in_series(sample)
    for number, fold in enumerate(folds):
        inside = np.lexsort((position[fold.test], series[fold.test]))
        steps = np.diff(position[fold.test][inside])
        if np.any((steps != 1) & (np.diff(series[fold.test][inside]) == 0)):
            raise ValueError(
                f"Fold {number} holds out items that are not consecutive in order, and may "
                "train on their neighbours: pass a splitter such as TimeSeriesSplit, with "
                "sorted rows, or one that holds out whole series."
            )


def _places_in_series(sample: Sample) -> tuple[Integers, Integers]:
    """Place of each item in its series, and the number of the series."""
    n_samples = sample.n_items
    series, times = sample.design.strata, sample.design.positions
    assert times is not None
    if series is None:
        series = np.zeros(n_samples, dtype=np.int64)
    in_order = np.lexsort((times, series))
    lengths = np.bincount(series)
    place = np.empty(n_samples, dtype=np.int64)
    place[in_order] = np.arange(n_samples) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return place, series


def _is_rare(count: Callable[[Integers], int], kinds: Integers, strata: Integers) -> bool:
    """Whether no random labelling within strata has such a small count."""
    rng, observed = np.random.default_rng(0), count(kinds)
    exchange = Exchange(strata, np.arange(kinds.size))
    drawn = (kinds[exchange.draw_rows(1, rng)[0]] for _ in range(_N_DRAWS))
    return all(count(labels) > observed for labels in drawn)


def check_clusters_are_whole(sample: Sample, folds: Sequence[Fold]) -> None:
    """Raise an error if a fold trains on part of a cluster that it holds out."""
    codes = sample.design.clusters
    for number, fold in enumerate(folds):
        if codes is None or isinstance(fold.estimator, FrozenEstimator):
            continue
        both = np.intersect1d(codes[fold.train], codes[fold.test])
        if both.size:
            raise ValueError(
                f"Cluster {sample.design.names['clusters'][both[0]]!r} is in the training set and "
                f"in the held-out items of fold {number}, which reveals its label to the "
                "estimator: keep clusters together, as StratifiedGroupKFold does."
            )


def check_are_different(
    sample: Sample, folds: Sequence[Fold], what: str, remedy: str, of_clusters: bool = True
) -> None:
    """Raise an error if several folds hold out the same items, or the same clusters."""
    units = {"items": np.arange(sample.n_items)}
    if of_clusters and sample.design.clusters is not None:
        units["clusters"] = sample.design.clusters
    for name, codes in units.items():
        held_out = np.concatenate([np.unique(codes[fold.test]) for fold in folds])
        if np.unique(held_out).size < held_out.size:
            raise ValueError(
                f"{what} needs folds that hold out different {name}, but some are held out "
                f"twice: use {remedy}."
            )


def _are_contiguous(folds: Sequence[Fold]) -> bool:
    """Whether each fold holds out consecutive rows."""
    return all(fold.test.size > 1 and np.all(np.diff(fold.test) == 1) for fold in folds)


# Splitters.


def is_default(cv: Any) -> bool:
    """Whether cv is an int or None, for which a splitter is made."""
    return cv is None or isinstance(cv, Integral)


def splitter(cv: Any, y: Any, groups: Any, estimators: Sequence[Any]) -> Any:
    """Return a splitter; for an int, it shuffles with a fixed seed and keeps groups together."""
    classifier = any(is_classifier(estimator) for estimator in estimators)
    if isinstance(cv, Iterator):
        cv = list(cv)
    made = check_cv(cv, y, classifier=classifier)
    if not is_default(cv):
        are_frozen = all(isinstance(estimator, FrozenEstimator) for estimator in estimators)
        return _CheckedSplitter(cv if hasattr(cv, "split") else list(cv), are_frozen)
    of_groups = {StratifiedKFold: StratifiedGroupKFold, KFold: GroupKFold}
    kind = type(made) if groups is None else of_groups[type(made)]
    return kind(made.get_n_splits(), shuffle=True, random_state=0)


@dataclass(frozen=True)
class _CheckedSplitter:
    """A splitter or a list of splits that are read, and checked before anything is fitted."""

    cv: Any
    may_overlap: bool

    def split(self, X: Any, y: Any = None, groups: Any = None, **params: Any) -> Any:
        """Return the rows of each fold as arrays of row numbers."""
        if groups is not None:
            params["groups"] = groups
        splits = self.cv if isinstance(self.cv, list) else self.cv.split(X, y, **params)
        n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
        return read_splits(splits, n_samples, "cv", self.may_overlap)

    def get_n_splits(self, *args: Any, **params: Any) -> int:
        """Return the number of folds."""
        return len(self.cv) if isinstance(self.cv, list) else self.cv.get_n_splits(*args, **params)

    def get_metadata_routing(self) -> Any:
        """Return what the splitter asks for when metadata are routed."""
        return get_routing_for_object(self.cv)


def splits_by_groups(cv: Any) -> bool:
    """Whether a splitter declares, as those of scikit-learn do, that it splits by groups."""
    return bool(get_routing_for_object(cv).consumes("split", ["groups"]))


def groups_of_clusters(design: Design) -> Integers | None:
    """Clusters as groups of a splitter: numbers in the order of their values, if they have one."""
    codes = design.clusters
    if codes is None:
        return None
    names = design.names["clusters"]
    try:
        in_order = sorted(range(len(names)), key=names.__getitem__)
    except TypeError:
        return codes
    return np.asarray(np.argsort(in_order)[codes], dtype=np.int64)


def split_params(X: Any, y: Any, params: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Data that have rows, the groups of the splitter in the parameters, and the other ones."""
    others = dict(params or {})
    X, y, groups = indexable(X, y, others.pop("groups", None))
    return X, y, groups, others


def groups_for(cv: Any, groups: Any, design: Design) -> Any:
    """Groups of the splitter: those that were given, or the clusters if it splits by groups."""
    if groups is None and (is_default(cv) or splits_by_groups(cv)):
        return groups_of_clusters(design)
    return groups


def check_makes_splits(cv: Any, what: str) -> None:
    """Raise an error for fixed splits, which are the same for all labels."""
    if is_default(cv) or hasattr(cv, "split"):
        return
    raise ValueError(
        f"{what} are split again for each permutation of the labels, but cv={type(cv).__name__} "
        "has fixed splits, which may depend on the labels and make p-values too small: pass a "
        "splitter, or PredefinedSplit if the splits are independent of the "
        "labels."
    )


def with_groups(estimator: Any, cv: Any, groups: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Arguments of scikit-learn's cross-validation, with and without metadata routing.

    The splitter gets the groups, and so does an estimator that asks for them.
    """
    fits = groups is not None and _fits_with_groups(estimator)
    if not get_config()["enable_metadata_routing"]:
        return {"cv": cv, "groups": groups, "params": params | ({"groups": groups} if fits else {})}
    # Splits that were made ask for no groups.
    asked = fits or (groups is not None and not isinstance(cv, list))
    return {"cv": cv, "params": params | ({"groups": groups} if asked else {})}


def _fits_with_groups(estimator: Any) -> bool:
    """Whether an estimator asks for groups, as a search does whose splitter splits by groups."""
    try:
        return bool(get_routing_for_object(estimator).consumes("fit", ["groups"]))
    except NotImplementedError:  # some estimators of scikit-learn have no routing
        return False


# Fits and scores.


def check_nothing_to_fit(given: Mapping[str, Any]) -> None:
    """Raise an error if arguments for fitting are given with fitted folds."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} is for fitting, but a dict of cross_validate contains fitted estimators: "
                "leave it out, or pass the estimator instead of the dict."
            )


def _nothing(estimator: Any, X: Any, y: Any) -> float:
    """Return a dummy score, because only the fitted estimators are needed."""
    return 0.0


def fit_folds(estimator: Any, X: Any, y: Any, **options: Any) -> list[Fold]:
    """Fit an estimator to each training set."""
    fitted = cross_validate(
        estimator,
        X,
        y,
        scoring=_nothing,
        return_estimator=True,
        return_indices=True,
        error_score="raise",
        **options,
    )
    return folds_of(fitted, X, y, "cv")


def held_out_scores(
    folds: Iterable[Fold],
    X: Any,
    y: Any,
    scores: Callable[[Any, Any], Floats],
    n_jobs: int | None,
) -> list[Floats]:
    """Scores of the items that each fold holds out, by what scores them with its estimator."""
    tasks = ((fold.estimator, fold.held_out(X, y)[0]) for fold in folds)
    return in_parallel(scores, tasks, n_jobs)


def held_out_sample(sample: Sample, fold: Fold, scores: Any, columns: str = "") -> Sample:
    """The items that a fold holds out, with scores by one ranker, or by those of a dict."""
    read = Sample.read(sample.positive[fold.test], scores, pos_label=True, columns=columns)
    return replace(read, design=sample.design.of_rows(fold.test))


@dataclass(frozen=True, eq=False)
class FoldMean:
    """Mean over folds of a metric, or of a difference, with its standard error.

    `maximum` is the largest possible mean.
    """

    mean: float
    standard_error: float
    df: float
    maximum: float = math.inf

    @classmethod
    def of_models(
        cls, parts: Iterable[tuple[float, float, tuple[float, float]]], maximum: float = math.inf
    ) -> FoldMean:
        """Mean of values of fitted models, each with its variance and numbers of both classes.

        Given the models, held-out items of different folds are independent, so that the variances
        add up. The degrees of freedom of each are the number of independent positives minus 1, and
        those of the sum are Satterthwaite's.
        """
        values, variances, numbers = map(np.array, zip(*parts, strict=True))
        for fold, (n_positives, n_negatives) in enumerate(numbers.tolist()):
            if min(n_positives, n_negatives) < 2:
                raise ValueError(
                    f"Fold {fold} holds out {n_positives} independent positives and {n_negatives} "
                    "negatives, but the variance needs at least 2 of each: use fewer folds, or "
                    "stratified ones."
                )
        free, total = numbers[:, 0] - 1, float(variances.sum())
        df = float(1.0 / np.sum((variances / total) ** 2 / free)) if total else float(free.sum())
        return cls(float(values.mean()), math.sqrt(total) / values.size, df, maximum)

    @classmethod
    def of_algorithms(cls, values: Floats, ratio: float) -> FoldMean:
        """Mean of values of any models, corrected for overlapping training sets.

        The correction is that of Nadeau and Bengio for the ratio of held-out to training items.
        """
        # The variance of equal values is 0, without rounding errors.
        variance = float(values.var(ddof=1)) if np.ptp(values) > 0.0 else 0.0
        error = math.sqrt((1.0 / values.size + ratio) * variance)
        return cls(float(values.mean()), error, values.size - 1)

    def comparison(self) -> dict[str, Any]:
        """Fields of a result about the mean of differences: its two-sided t test and interval."""
        pvalue = float(limits.t_test(self.mean, self.standard_error, self.df).pvalue)
        return {
            "difference": self.mean,
            "standard_error": self.standard_error,
            "pvalue": pvalue,
            "log10_pvalue": log10_of(pvalue),
            "df": self.df,
            "_interval": self.limits,
        }

    def limits(self, confidence_level: float) -> tuple[float, float]:
        """Student's t limits."""
        half = self.standard_error * float(limits.t_quantile(self.df, confidence_level))
        return self.mean - half, min(self.mean + half, self.maximum)
