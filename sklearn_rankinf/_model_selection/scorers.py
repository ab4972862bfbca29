"""Significance scorers: one number per fold, from labels and scores."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import make_scorer

from sklearn_rankinf._metrics import as_metric, as_metric_or_average
from sklearn_rankinf._null import (
    OF_LABELS,
    NullDistribution,
    check_metric_and_method,
    check_takes_weights,
    observe,
    pvalue_log_and_error,
    tolerating,
    warn_of_design,
    warn_of_undefined,
)
from sklearn_rankinf._ranking import (
    RESPONSE_METHODS,
    PosLabel,
    Sample,
    as_seed_sequence,
    check_integer,
    check_option,
    check_pos_label,
    estimator_scores,
)
from sklearn_rankinf._significance import adjusted, standardized
from sklearn_rankinf._statistics import Floats, Metric, as_log10, is_smallest


def resolution(log10_pvalue: float) -> float:
    """Error of -log10 p that is too small to choose between parameter settings."""
    return 0.01 + 0.001 * abs(log10_pvalue)


# Relative error of a p-value that the resolution accepts for every p.
_TOLERANCE = math.log(10.0) * resolution(0.0)
_OUTPUTS = ("statistic", "neg_log10_pvalue", "pvalue", "zscore", "adjusted")
# Number of items up to which all digits of a p-value cost little.
_SHORT = 64
# Key of the dict -> (output, method); a method of None is the requested one.
_ONE_METHOD: dict[str, tuple[str, str | None]] = {output: (output, None) for output in _OUTPUTS}
_BOTH_METHODS: dict[str, tuple[str, str | None]] = {
    **{output: (output, "auto") for output in ("statistic", "zscore", "adjusted")},
    **{
        f"{output}_{method}": (output, method)
        for output in ("pvalue", "neg_log10_pvalue")
        for method in ("analytic", "permutation")
    },
}


@dataclass(frozen=True)
class Scoring:
    """What a scorer states for cross-validation: a metric, and how estimators rank.

    With the method of the p-value of a fold, and the methods of the estimator that return scores.
    """

    metric: Any
    method: str = "auto"
    pos_label: PosLabel = 1
    response_method: str | Sequence[str] = RESPONSE_METHODS

    @classmethod
    def of(cls, metric: Any, y: Any) -> Scoring:
        """Read a metric, its name or a scorer for labels `y`."""
        if isinstance(metric, Mapping):
            raise ValueError(
                f"metric is a dict of {len(metric)} scorers: pass one of them, as "
                "make_significance_scorer returns it without output='all' and method='both'."
            )
        found = getattr(metric, "scoring", None)
        scoring = found if isinstance(found, cls) else cls(metric)
        scoring = replace(scoring, metric=as_metric(scoring.metric))
        labels = np.asarray(y)
        names = set(labels.tolist()) if labels.ndim == 1 else ()
        are_values = all(name == name for name in names)  # not nan
        if len(names) == 2 and scoring.pos_label not in names and are_values:
            listed = ", ".join(sorted(map(repr, names)))
            raise ValueError(
                f"pos_label={scoring.pos_label!r} is not a label of y, whose labels are {listed}: "
                "pass metric=make_significance_scorer(metric, pos_label=...) with one of them."
            )
        return scoring

    def labels(self, y: Any, **design: Any) -> Sample:
        """Read labels and the design of their sample."""
        return Sample.read(y, None, pos_label=self.pos_label, columns="none", **design)

    def scores(self, estimator: Any, X: Any) -> Floats:
        """Scores of a fitted estimator."""
        return estimator_scores(estimator, X, self.pos_label, self.response_method)

    def scorer(self, output: str, **options: Any) -> Any:
        """Make a scorer of another output."""
        stated: dict[str, Any] = {
            "pos_label": self.pos_label,
            "response_method": self.response_method,
        }
        return make_significance_scorer(
            self.metric, method=self.method, output=output, **stated, **options
        )


def make_significance_scorer(
    metric: str | Metric = "average_precision",
    *,
    method: str = "auto",
    output: str = "neg_log10_pvalue",
    pos_label: PosLabel = 1,
    n_resamples: int = 999,
    random_state: Any = 0,
    response_method: str | Sequence[str] = RESPONSE_METHODS,
) -> Any:
    r"""Make a scorer that measures the evidence that a ranking is better than chance.

    The scorer can be used wherever scikit-learn accepts ``scoring=``. It ranks the given items by
    the scores of the estimator and tests the ranking against chance.

    Parameters
    ----------
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`. A fraction of the items, as in ``"recall@0.1"``, is usually the
        better cut-off because folds differ in size; a number larger than a fold is an error. For
        multiclass and multilabel labels the average over the classes is a part of the metric, as in
        ``"recall_macro@0.1"`` or ``Bedroc().averaged("macro")``. Averages have no null distribution
        in closed form: ``method="auto"`` selects permutation, and with ``method="both"`` only the
        analytic scorers of the dict fail. Binary labels need no average and ignore it; if
        `pos_label` is also left at 1, the larger label is then the positive one.
    method : str, default="auto"
        Method of the p-value: ``"auto"``, ``"analytic"``, ``"permutation"``, with `sample_weight`
        also ``"permutation_of_labels"`` (see :func:`average_precision_test`), an approximation that
        the null distribution of the metric has, such as ``"normal"``; or ``"both"``, analytic and
        permutation side by side.
    output : str, default="neg_log10_pvalue"
        Quantity that a scorer returns: ``"neg_log10_pvalue"``, the evidence, on a scale on which
        greater is better and no value underflows; ``"zscore"``, the distance from chance in
        standard deviations; ``"adjusted"``, the statistic on a scale with chance at 0 and a perfect
        ranking at 1; ``"statistic"``, the metric; ``"pvalue"``, for information only and never for
        `refit` or selection, since searches maximise; or ``"all"`` of them.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Required for string labels, unless the metric is an average.
    n_resamples : int, default=999
        Number of random labellings for permutation. The p-value is never below
        ``1 / (n_resamples + 1)``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings. With an int all parameter settings and folds use the same
        ones.
    response_method : str or sequence of str, default=("decision_function", "predict_proba")
        Methods of the estimator that return the scores; the first available one is used.
        ``"predict"`` is for regressors.

    Returns
    -------
    scorer : callable or dict of callables
        A scorer ``(estimator, X, y) -> float`` made by :func:`sklearn.metrics.make_scorer`. With
        ``output="all"`` a dict of such scorers with the keys ``statistic``, ``neg_log10_pvalue``,
        ``pvalue``, ``zscore`` and ``adjusted``. With ``method="both"`` a dict with the keys
        ``statistic``, ``zscore``, ``adjusted``, ``pvalue_analytic``, ``pvalue_permutation``,
        ``neg_log10_pvalue_analytic`` and ``neg_log10_pvalue_permutation``. The dict can be passed
        as `scoring` to :func:`sklearn.model_selection.cross_validate` and to searches; a search
        then needs a key or a callable as `refit`.

    Raises
    ------
    TypeError
        If an argument has the wrong type, or if this function is itself passed as a scorer.
    ValueError
        If an argument is not one of those above, or if `output` is not ``"all"`` with
        ``method="both"``. The scorer raises a ValueError for invalid labels and scores, for a
        cut-off larger than a fold, for multiclass or multilabel labels without an average, and if
        ``method="analytic"`` is not available.

    Warns
    -----
    UndefinedMetricWarning
        If the labels of a fold have no positives.
    UserWarning
        If a permutation p-value is the smallest possible one, so that parameter settings tie; if a
        fold has few different labellings; and if the test warns about weights.

    See Also
    --------
    average_precision_significance_scorer : The scorer with default arguments.
    average_precision_test : The complete test of given labels and scores.
    sklearn.metrics.make_scorer : Make a scorer of any metric function.
    sklearn.model_selection.permutation_test_score : Test of an estimator by refitting it.

    Notes
    -----
    The default score is

    .. math:: -\log_{10} P(S \ge s),

    for the value :math:`s` of the metric on the fold, under the hypothesis that every choice of the
    positives among the items is equally likely, given the scores and their ties. The mean score
    over folds ranks parameter settings. It is not valid evidence that the winner is better than
    chance, because training sets overlap and the best of many parameter settings is selected.

    To keep a search almost as fast as one that is scored by average precision, exact p-values that
    take long to compute have a resolution of at most 0.01 + 0.001 E in the default score E: 0.011
    at E = 1, and 0.046 at E = 36. :func:`average_precision_test` computes all digits. All folds and
    parameter settings are scored on one scale: where no error of an exact p-value below 10 percent
    can be stated, the score is that of its guaranteed upper bound. If a p-value takes too long to
    compute, the error is raised, for which scikit-learn has ``error_score`` (:ref:`scorers`).

    A fold without evidence does not stop a search: if all labels or all scores are equal, the
    statistic is that of the test, p is 1 and all other outputs are 0. A fold of multiclass labels
    in which a class is missing is an error, as in scikit-learn: use stratified folds.

    Weights, strata, clusters and the order of the items are passed to scorers by metadata
    routing (:ref:`scorers`): enable it, call ``set_score_request(clusters=True)``, or the same with
    `sample_weight`, `strata` or `order`, on the scorer or on each scorer of a dict, and pass the
    arrays in `params` or to `fit`. None of these cases has a null distribution in closed form. A
    fold in which nothing can be permuted has no evidence. Metrics other than average precision do
    not accept weights. Clusters do not affect the splits: use a splitter that keeps groups together
    as well.

    Halving searches such as :class:`sklearn.model_selection.HalvingGridSearchCV` accept a single
    scorer and no dict, so ``output="all"`` and ``method="both"`` cannot be used with them.
    :class:`sklearn.model_selection.TunedThresholdClassifierCV` cannot use these scorers: it
    varies the threshold of hard labels, while a ranking is the same for every threshold.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV, cross_val_score
    >>> from sklearn_rankinf import make_significance_scorer
    >>> X, y = make_classification(300, weights=[0.9], random_state=0)
    >>> scorer = make_significance_scorer("recall@0.1")
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer).shape
    (5,)
    >>> scorers = make_significance_scorer(output="all")
    >>> list(scorers)
    ['statistic', 'neg_log10_pvalue', 'pvalue', 'zscore', 'adjusted']
    >>> search = GridSearchCV(
    ...     LogisticRegression(), {"C": [0.01, 1.0]}, scoring=scorers, refit="neg_log10_pvalue"
    ... )
    >>> bool((search.fit(X, y).cv_results_["mean_test_pvalue"] < 0.05).all())
    True
    """
    keys = _keys_of(method, output)
    n_resamples = check_integer(n_resamples, "n_resamples", 1)
    options: dict[str, Any] = {"method": "permutation" if method == "both" else method}
    average = _check_metric(metric, random_state=random_state, **options)
    options |= {"n_resamples": n_resamples, "random_state": random_state}
    # A worker process finds the metrics of the package by name; custom ones are sent to it.
    _check_response_method(response_method)
    check_pos_label(pos_label)
    # scikit-learn selects a column of the scores by pos_label, and raises an error if pos_label
    # is not one of the classes, even if no column has to be selected.
    if average is None or pos_label != 1:
        options["pos_label"] = pos_label
    options["in_dict"] = keys is not None

    def scorer(output: str, method: str | None) -> Any:
        own = options if method is None else {**options, "method": method}
        named = {name: value for name, value in own.items() if value != _DEFAULTS[name]}
        made = make_scorer(
            significance_score,
            response_method=response_method,
            metric=metric,
            output=output,
            **named,
        )
        made.scoring = Scoring(metric, own["method"], pos_label, response_method)
        return made

    if keys is None:
        return scorer(output, None)
    return {key: scorer(*of_key) for key, of_key in keys.items()}


def significance_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    metric: str | Metric = "average_precision",
    output: str = "neg_log10_pvalue",
    method: str = "auto",
    pos_label: PosLabel | None = None,
    n_resamples: int = 999,
    random_state: Any = 0,
    in_dict: bool = False,
    sample_weight: ArrayLike | None = None,
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
) -> float:
    """Score the labels and scores of one fold; see `make_significance_scorer`.

    Only the quantities that `output` needs are computed, and a fold without evidence scores 0. All
    scorers of a dict score the same folds, so only one of them warns about a fold without
    positives, and only one about the smallest possible p-values.
    """
    chosen = as_metric_or_average(metric)
    each, average = chosen.of_each_class()
    _check_fold_holds(each, np.shape(y_score)[0])
    several = np.ndim(y_score) == 2 and np.shape(y_score)[1] > 1
    if several and average is None:
        raise ValueError(
            f"y_score has {np.shape(y_score)[1]} columns, as for multiclass or multilabel labels, "
            f"but metric={metric!r} is no average over classes: pass one to "
            "make_significance_scorer, such as metric='average_precision_macro'."
        )
    if pos_label is None:
        pos_label = 1 if several else _greater_label(y_true)
    design: dict[str, Any] = {"strata": strata, "clusters": clusters, "order": order}
    columns = "classes" if several else ""
    sample = Sample.read(
        y_true, y_score, pos_label=pos_label, columns=columns, sample_weight=sample_weight, **design
    )
    if not several and sample.n_positives == 0:
        if not in_dict or output == "statistic":
            _warn_of_no_positives()
        sample = replace(sample, design=sample.design.of_one_value())
    if not several:
        chosen = each
    warns = output == "neg_log10_pvalue" or (output == "pvalue" and not in_dict)
    if warns:
        warn_of_design(sample, chosen, method)
    options = {"method": method, "n_resamples": n_resamples, "random_state": random_state}
    statistic, null = observe(chosen, sample, n_jobs=None, **options)
    if several or sample.design.restrictions:
        warn_of_undefined(chosen.at(sample.n_items), sample)
    # Many folds share the null distribution of a short list without ties, which is cached.
    if sample.n_items > _SHORT or sample.tie_sizes() is not None:
        null = tolerating(null, _TOLERANCE)
    score = _output_of(statistic, null, output)
    if warns and null.method == "permutation":
        pvalue = score if output == "pvalue" else 10.0**-score
        if is_smallest(pvalue, n_resamples):
            _warn_of_the_floor(n_resamples)
    return score


_DEFAULTS = {
    name: parameter.default for name, parameter in signature(significance_score).parameters.items()
}


def _output_of(statistic: Any, null: NullDistribution, output: str) -> float:
    """Return one output; 0, no evidence, if it is undefined with one class or one score."""
    if output == "pvalue":
        return float(null.pvalue(statistic))
    if output == "neg_log10_pvalue":
        return abs(float(as_log10(pvalue_log_and_error(null, statistic, "greater")[1])))
    if output != "statistic":
        statistic = (standardized if output == "zscore" else adjusted)(statistic, null)
    return 0.0 if math.isnan(statistic) else float(statistic)


def _greater_label(y_true: ArrayLike) -> PosLabel:
    """Default positive label of binary labels, as in scikit-learn's scorers."""
    labels = np.unique(np.asarray(y_true))
    if labels.size > 1:
        return labels[-1:].tolist()[0]  # type: ignore[no-any-return]
    label = labels.tolist()[0]
    if isinstance(label, str) or label not in (-1, 0, 1):
        raise ValueError(
            f"All items have the label {label!r}, which may be positive or negative: pass "
            "pos_label to make_significance_scorer."
        )
    return 1


# Each warning comes from one line and has the same text for all outputs, so that warning filters
# treat repeated warnings as the same.


def _warn_of_no_positives() -> None:
    warnings.warn(
        "There are no positives in y_true, so the statistic of this fold is set to 0 and its "
        "p-value to 1: use stratified folds, which spread the positives evenly.",
        UndefinedMetricWarning,
        stacklevel=1,
    )


def _warn_of_the_floor(n_resamples: int) -> None:
    warnings.warn(
        f"A permutation p-value has its smallest possible value, 1/{n_resamples + 1} with "
        f"{n_resamples} permutations, and parameter settings with this value tie: use "
        "method='analytic', which has no such limit, or a larger n_resamples if there is no "
        "analytic null distribution.",
        UserWarning,
        stacklevel=1,
    )


# Arguments of the scorers.


def _keys_of(method: str, output: str) -> Mapping[str, tuple[str, str | None]] | None:
    """Return the keys of the requested dict, or None for a single scorer."""
    output = check_option(output, "output", (*_OUTPUTS, "all"))
    if method != "both":
        return _ONE_METHOD if output == "all" else None
    if output not in ("neg_log10_pvalue", "all"):
        raise ValueError(
            f"method='both' returns a dict with every output; got output={output!r}: leave output "
            f"out, or pass method='analytic' or method='permutation' with output={output!r}."
        )
    return _BOTH_METHODS


def _check_metric(metric: Any, *, method: str, random_state: Any) -> str | None:
    """Check the metric once, before any fold is scored; return its average over classes."""
    chosen, average = as_metric_or_average(metric).of_each_class()
    cut: Any = getattr(chosen, "k", None)
    n_samples = max(4, int(cut) + 1) if isinstance(cut, Integral) else 4
    if method == OF_LABELS:
        check_takes_weights(chosen, f"method={method!r}")
        method = "permutation"
    check_metric_and_method(chosen, method, n_samples, 2)
    if not isinstance(random_state, np.random.RandomState | np.random.Generator):
        as_seed_sequence(random_state)
    return average


def _check_response_method(response_method: Any) -> None:
    known = (*RESPONSE_METHODS, "predict")
    methods = [response_method] if isinstance(response_method, str) else response_method
    if (
        not isinstance(methods, list | tuple)
        or not methods
        or any(name not in known for name in methods)
    ):
        raise ValueError(
            f"response_method must be one of {', '.join(map(repr, known))} or a list "
            f"of them; got {response_method!r}."
        )


def _check_fold_holds(metric: Metric, n_samples: int) -> None:
    k: Any = getattr(metric, "k", None)
    if isinstance(k, Integral) and int(k) > n_samples:
        raise ValueError(
            f"metric={metric!r} has a cut-off above the {n_samples} items of this fold: pass a "
            "smaller one to make_significance_scorer, or a fraction of the items, as in "
            "metric='recall@0.1'."
        )


average_precision_significance_scorer: Any = make_significance_scorer()
"""Scorer of average precision by -log10 p of the exact test: `make_significance_scorer()`."""
