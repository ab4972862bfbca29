"""How labels of cross-validated samples are permuted, and folds whose p-values would be wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
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
)

from sklearn_rankinf._engine.exchange import Exchange
from sklearn_rankinf._engine.statistics import Integers
from sklearn_rankinf._ranking import numbered
from sklearn_rankinf._response import Fold, rows
from sklearn_rankinf._restricted import few_labellings_warning, read_exchange
from sklearn_rankinf._significance import warn_caller

# Random labellings that labels are compared with; if none has as few unlike neighbours, they are
# too much alike to be permuted one by one.
_N_DRAWS = 99
_MANY_LABELLINGS = 1000
# What the tests of single rankings say of few labellings, where one sentence is enough for all.
FEW_LABELLINGS = ".* leave (no|[0-9]+ different) labelling"


# Labels.


@dataclass(frozen=True, eq=False)
class LabelDesign:
    """Labels of samples, and which of them change places under the null hypothesis.

    Attributes
    ----------
    y : array-like of shape (n_samples,)
        The labels.
    kinds : ndarray of int of shape (n_samples,)
        Their numbers; equal labels have equal numbers.
    strata, clusters : ndarray of int of shape (n_samples,) or None
        Numbers of the stratum and of the cluster of each sample.
    names : list
        Names of the clusters by number.
    exchange : Exchange or None
        Which labels change places; None if all of them do.
    """

    y: Any
    kinds: Integers
    strata: Integers | None
    clusters: Integers | None
    names: list[Any]
    exchange: Exchange | None

    @classmethod
    def read(
        cls, y: Any, strata: Iterable[Hashable] | None, clusters: Iterable[Hashable] | None
    ) -> LabelDesign:
        """Read labels with the strata and clusters of their samples."""
        kinds: Any = _kinds(y)
        of_strata = of_clusters = None
        names: list[Any] = []
        if strata is not None:
            of_strata, stratum_names = numbered(strata, "strata", "stratum", kinds.size)
            strata = [stratum_names[code] for code in of_strata]
        if clusters is not None:
            of_clusters, names = numbered(clusters, "clusters", "cluster", kinds.size)
            clusters = [names[code] for code in of_clusters]
        exchange = read_exchange(strata, clusters, kinds[:, None])
        return cls(y, kinds, of_strata, of_clusters, names, exchange)

    def of_rows(self, indices: Integers) -> dict[str, Integers]:
        """Strata and clusters of some rows, those that there are."""
        of_all = {"strata": self.strata, "clusters": self.clusters}
        return {name: codes[indices] for name, codes in of_all.items() if codes is not None}

    def permuted(self, seed: np.random.SeedSequence) -> Any:
        """The labels in a random order that the null hypothesis allows."""
        rng = np.random.default_rng(seed)
        if self.exchange is None:
            return rows(self.y, rng.permutation(self.kinds.size))
        return rows(self.y, self.exchange.draw_rows(1, rng)[0])

    @property
    def restrictions(self) -> str:
        """What restricts the permutations, in words."""
        return " and ".join(self.of_rows(np.arange(0)))

    def check_permutations(self) -> None:
        """Refuse labels that no permutation changes."""
        if self._log_n_labellings(np.arange(self.kinds.size)) > 0.0:
            return
        if self.exchange is None:
            raise ValueError("All labels are the same, so that permuting them changes nothing.")
        raise ValueError(
            f"{self.restrictions} leave no labelling but the observed one, so that permuting "
            "labels changes nothing: the labels of a stratum are all the same, or clusters of "
            "one size have all the same label. Join strata, or take clusters of equal sizes."
        )

    def warn_of_few_labellings(self) -> None:
        """Warn if strata and clusters leave few different labellings of all samples."""
        if self.exchange is not None:
            labels: Any = self.kinds[:, None]
            message = few_labellings_warning(self.exchange, labels)
            if message is not None:
                warn_caller(message, UserWarning)

    def check_groups(self, groups: Any) -> None:
        """Refuse labels that are those of whole groups; warn if they are alike within groups.

        Nothing is asked if strata or clusters say how labels are permuted.
        """
        if groups is None or self.exchange is not None or np.ptp(self.kinds) == 0:
            return
        codes, names = numbered(groups, "groups", "group", self.kinds.size)
        if len(names) == codes.size:
            return

        def n_unlike(kinds: Integers) -> int:
            """Pairs of a group with different labels, twice, less a constant."""
            _, counts = np.unique(codes * kinds.size + kinds, return_counts=True)
            return -int(np.sum(counts**2))

        if n_unlike(self.kinds) == -int(np.sum(np.bincount(codes) ** 2)):
            raise ValueError(
                "The labels are the same within each of the groups, and groups say only how to "
                "split: to permute the labels of single samples would make p-values far too "
                "small. Pass clusters=groups, which permutes the labels of whole groups."
            )
        if _is_rare(n_unlike, self.kinds, np.zeros_like(codes)):
            warn_caller(
                "The labels are more alike within groups than random labels are, and groups say "
                "only how to split: permuting labels across groups makes p-values too small where "
                "scores of a group are alike too. Pass strata=groups, which permutes labels within "
                "groups only, or clusters, whose samples have the same label.",
                UserWarning,
            )

    def check_folds(self, folds: Sequence[Fold], combine: str) -> None:
        """Refuse folds that have no valid p-values with these labels, or warn of them."""
        self._check_clusters_are_whole(folds, combine)
        self._check_labellings(folds)
        self._warn_of_unshuffled_folds(folds)
        self._warn_of_series(folds)

    def _check_clusters_are_whole(self, folds: Sequence[Fold], combine: str) -> None:
        """Refuse folds that divide clusters."""
        if self.clusters is None:
            return
        remedy = "keep clusters together, as StratifiedGroupKFold does with groups=clusters"
        for number, fold in enumerate(folds):
            if isinstance(fold.estimator, FrozenEstimator):
                continue
            both = np.intersect1d(self.clusters[fold.train], self.clusters[fold.test])
            if both.size:
                raise ValueError(
                    f"Cluster {self.names[both[0]]!r} is in the training set and in the held-out "
                    f"samples of fold {number}, which tells the estimator its label: {remedy}."
                )
        held_out = np.concatenate([np.unique(self.clusters[fold.test]) for fold in folds])
        several = np.bincount(held_out) > 1
        if combine == "fisher" and several.any():
            raise ValueError(
                f"combine='fisher' needs independent folds, and cluster "
                f"{self.names[int(np.argmax(several))]!r} is in several: {remedy}, or take "
                "combine='bonferroni', which is valid for all folds."
            )

    def _check_labellings(self, folds: Sequence[Fold]) -> None:
        """Refuse folds that nothing can be permuted in; warn if little can."""
        if self.exchange is None:
            return
        logs = np.array([self._log_n_labellings(fold.test) for fold in folds])
        several = np.array([np.ptp(self.kinds[fold.test]) > 0 for fold in folds])
        if several.any() and np.all(logs == 0.0):
            raise ValueError(
                f"{self.restrictions} leave no labelling of any fold but the observed one, so "
                "that permuting labels changes nothing: take fewer folds, or folds of clusters of "
                "equal sizes."
            )
        few = np.flatnonzero(several & (logs < math.log(_MANY_LABELLINGS)))
        if few.size:
            least = round(math.exp(logs[few].min()))
            warn_caller(
                f"{self.restrictions} leave fewer than {_MANY_LABELLINGS} different labellings in "
                f"{few.size} of {len(folds)} folds ({', '.join(map(str, few))}), at the fewest "
                f"{least}, and the p-value of a fold is at least 1 over their number: take fewer "
                "folds.",
                UserWarning,
            )

    def _warn_of_unshuffled_folds(self, folds: Sequence[Fold]) -> None:
        """Warn of folds that were made from the labels and the order of the rows."""
        number = np.full(self.kinds.size, -1)
        for index, fold in enumerate(folds):
            number[fold.test] = index
        held_out = np.flatnonzero(number >= 0)
        # Stratified folds without shuffling take the rows of each class in their order.
        order = held_out[np.lexsort((held_out, self.kinds[held_out]))]
        is_next = np.diff(self.kinds[order]) == 0
        in_order = np.all(np.diff(number[order])[is_next] >= 0)
        if in_order and not _are_contiguous(folds):
            warn_caller(
                "The folds are stratified and not shuffled: they depend on the labels and the "
                "order of the rows, and their p-values are far too small where scores have to do "
                "with that order. Pass a splitter with shuffle=True. Only rows that are in random "
                "order already do no harm.",
                UserWarning,
            )

    def _warn_of_series(self, folds: Sequence[Fold]) -> None:
        """Warn of folds of successive rows in which successive labels are alike."""
        if self.exchange is not None or not _are_contiguous(folds):
            return
        held_out = np.concatenate([fold.test for fold in folds])
        fold_of = np.repeat(np.arange(len(folds)), [fold.test.size for fold in folds])
        in_one = fold_of[1:] == fold_of[:-1]

        def n_unlike(kinds: Integers) -> int:
            """Successive rows of a fold with different labels."""
            return int(np.sum((kinds[1:] != kinds[:-1]) & in_one))

        if _is_rare(n_unlike, self.kinds[held_out], fold_of):
            warn_caller(
                "The folds are of successive rows, and successive labels are more alike than "
                "random labels are, as in a time series: p-values are too small where successive "
                "scores are alike too. Pass strata=, such as days or blocks of rows, to permute "
                "labels within them, or clusters=, to permute the labels of whole episodes.",
                UserWarning,
            )

    def _log_n_labellings(self, indices: Integers) -> float:
        """Logarithm of the number of different labellings of some rows."""
        kinds: Any = self.kinds[indices]
        restricted = {"strata": None, "clusters": None, **self.of_rows(indices)}
        exchange = read_exchange(labels=kinds[:, None], **restricted)
        return (exchange or _free(kinds.size)).log_n_arrangements(kinds)


def _kinds(y: Any) -> Integers:
    """Numbers of labels, or of rows of labels."""
    labels = y.toarray() if sparse.issparse(y) else np.asarray(y)
    axis = 0 if labels.ndim > 1 else None
    return np.asarray(np.unique(labels, axis=axis, return_inverse=True)[1]).ravel()


def _free(n_samples: int) -> Exchange:
    """All labels change places."""
    return Exchange(np.zeros(n_samples, dtype=np.int64), np.arange(n_samples))


def _is_rare(count: Callable[[Integers], int], kinds: Integers, strata: Integers) -> bool:
    """Whether no random labelling within strata has a count as small."""
    rng, observed = np.random.default_rng(0), count(kinds)
    exchange = Exchange(strata, np.arange(kinds.size))
    drawn = (kinds[exchange.draw_rows(1, rng)[0]] for _ in range(_N_DRAWS))
    return all(count(labels) > observed for labels in drawn)


def _are_contiguous(folds: Sequence[Fold]) -> bool:
    """Whether each fold holds out successive rows."""
    return all(fold.test.size > 1 and np.all(np.diff(fold.test) == 1) for fold in folds)


# Splitters.


def splitter(cv: Any, y: Any, groups: Any, estimator: Any) -> Any:
    """A splitter; made of a number, it shuffles with a fixed seed and keeps groups together."""
    made = check_cv(cv, y, classifier=is_classifier(estimator))
    if cv is not None and not isinstance(cv, Integral):
        return made
    of_groups = {StratifiedKFold: StratifiedGroupKFold, KFold: GroupKFold}
    kind = type(made) if groups is None else of_groups[type(made)]
    return kind(made.get_n_splits(), shuffle=True, random_state=0)


def check_makes_splits(cv: Any, what: str) -> None:
    """Refuse splits that are the same for all labels."""
    if cv is None or isinstance(cv, Integral) or hasattr(cv, "split"):
        return
    raise ValueError(
        f"{what} are split anew for each permutation of the labels, and cv={type(cv).__name__} "
        "holds splits that were made once, perhaps from the labels, which makes p-values too "
        "small: pass a splitter, or PredefinedSplit if the splits have nothing to do with the "
        "labels."
    )


def with_groups(groups: Any, params: Any) -> dict[str, Any]:
    """Groups and parameters for scikit-learn's cross-validation, with and without routing."""
    if groups is not None and get_config()["enable_metadata_routing"]:
        return {"params": {**(params or {}), "groups": groups}}
    return {"groups": groups, "params": params}
