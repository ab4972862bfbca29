"""Significance as a scorer: one number for each fold, from labels and scores."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from inspect import signature
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import make_scorer

from sklearn_rankinf._engine.law import UNKNOWN
from sklearn_rankinf._engine.statistics import Metric, Statistic
from sklearn_rankinf._folds import FEW_LABELLINGS
from sklearn_rankinf._frozen_distributions import NullDistribution, pvalue_log_and_error, tolerating
from sklearn_rankinf._guard import scorer_factory
from sklearn_rankinf._metrics import as_metric, check_scalar_k, registered
from sklearn_rankinf._null_distributions import frozen_null_distribution
from sklearn_rankinf._observations import check_takes_weights, observe_ranking
from sklearn_rankinf._ranking import Ranking
from sklearn_rankinf._results import adjusted, as_log10, standardized
from sklearn_rankinf._significance import metric_test
from sklearn_rankinf._validation import (
    PosLabel,
    check_average,
    check_integer,
    check_option,
    check_pos_label,
    check_weights_follow,
)

_OUTPUTS = ("neg_log10_pvalue", "pvalue", "zscore", "adjusted", "statistic", "all")
# Relative error of exact p-values that does not matter to a search: 0.004 in -log10 p; and the
# number of samples up to which all digits cost little.
_TOLERANCE, _SHORT = 0.01, 64
# Of the scorers in a dict one says what tests say of weights and of few labellings.
_SAID_ONCE = (FEW_LABELLINGS, "sample_weight ")
_OF_SAMPLES = frozenset({"sample_weight", "strata", "clusters", "order"})
_RESPONSE_METHODS = ("decision_function", "predict_proba", "predict")

# Key of the dict -> (output, method); a method of None is the one that was asked for.
_ONE_METHOD: Mapping[str, tuple[str, str | None]] = MappingProxyType(
    {
        "statistic": ("statistic", None),
        "neg_log10_pvalue": ("neg_log10_pvalue", None),
        "pvalue": ("pvalue", None),
        "zscore": ("zscore", None),
        "adjusted": ("adjusted", None),
    }
)
_BOTH_METHODS: Mapping[str, tuple[str, str | None]] = MappingProxyType(
    {
        "statistic": ("statistic", "auto"),
        "zscore": ("zscore", "auto"),
        "adjusted": ("adjusted", "auto"),
        "pvalue_analytic": ("pvalue", "analytic"),
        "pvalue_permutation": ("pvalue", "permutation"),
        "neg_log10_pvalue_analytic": ("neg_log10_pvalue", "analytic"),
        "neg_log10_pvalue_permutation": ("neg_log10_pvalue", "permutation"),
    }
)


@scorer_factory
def make_significance_scorer(
    metric: str | Metric = "average_precision",
    *,
    method: str = "auto",
    output: str = "neg_log10_pvalue",
    k: float | None = None,
    pos_label: PosLabel = 1,
    average: str | None = None,
    weights_follow: str = "label",
    block_length: int | None = None,
    n_permutations: int = 999,
    random_state: Any = 0,
    response_method: str | Sequence[str] = ("decision_function", "predict_proba"),
) -> Any:
    r"""Make a scorer of the evidence that a ranking is better than chance.

    The scorer goes wherever scikit-learn takes ``scoring=``. It ranks the samples that it is given
    by the estimator's scores and tests the ranking against random labelling.

    Parameters
    ----------
    metric : str or metric, default="average_precision"
        What is tested: ``"average_precision"``, ``"recall_at_k"``, ``"precision_at_k"``,
        ``"enrichment_at_k"``, ``"f_score_at_k"``, ``"roc_auc"``, ``"dcg"``, ``"ndcg"``,
        ``"bedroc"``, ``"rie"``, ``"reciprocal_rank"``, a name given to :func:`register_metric`, or
        a metric itself, such as ``Bedroc(alpha=50.0)``.
    method : str, default="auto"
        How the p-value is computed: ``"auto"``, ``"analytic"``, ``"permutation"``, one of the
        approximations that the null distribution of the metric takes, such as ``"normal"``; or
        ``"both"``, analytic and permutation side by side.
    output : str, default="neg_log10_pvalue"
        What a scorer returns: ``"neg_log10_pvalue"``, the evidence, on a scale where greater is
        better and nothing underflows; ``"zscore"``, the distance from chance in standard
        deviations; ``"adjusted"``, the statistic on a scale with chance at 0 and a perfect ranking
        at 1; ``"statistic"``, the metric itself; ``"pvalue"``, which is for reading and never for
        `refit` or for choosing, since searches maximise; or ``"all"`` of them.
    k : int or float, optional
        Number of samples at the top, or a fraction of the samples between 0 and 1, for the metrics
        at k and, if wanted, average precision, DCG and NDCG. Folds differ in size, so that a
        fraction is usually what is meant; an int larger than a fold is an error.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Labels that are strings need it, unless `average` is given.
    average : {"macro", "weighted", "micro"}, optional
        Average over the classes of multiclass and multilabel labels, as scikit-learn forms it.
        Such averages have no law in closed form: ``method="auto"`` takes permutation, and with
        ``method="both"`` the analytic scorers of the dict fail, alone. Binary labels
        ignore it; their positive label is then the greater one, if `pos_label` is left at 1.
    weights_follow : {"label", "score"}, default="label"
        What weights stay with while labels are permuted, see :func:`average_precision_test`.
    block_length : int, optional
        Number of successive samples that are permuted as a block, where scorers are given the
        `order` of the samples; by default labels are shifted.
    n_permutations : int, default=999
        Number of random labellings for permutation. The p-value is never below
        ``1 / (n_permutations + 1)``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings. With an int all candidates and folds see the same ones.
    response_method : str or sequence of str, default=("decision_function", "predict_proba")
        Methods of the estimator that give the scores, the first one that it has. ``"predict"``
        is for regressors.

    Returns
    -------
    scorer : callable or dict of callables
        A scorer ``(estimator, X, y) -> float`` made by :func:`sklearn.metrics.make_scorer`. With
        ``output="all"`` a dict of such scorers with the keys ``statistic``, ``neg_log10_pvalue``,
        ``pvalue``, ``zscore`` and ``adjusted``. With ``method="both"`` a dict with the keys
        ``statistic``, ``zscore``, ``adjusted``, ``pvalue_analytic``, ``pvalue_permutation``,
        ``neg_log10_pvalue_analytic`` and ``neg_log10_pvalue_permutation``. A dict is what
        :func:`sklearn.model_selection.cross_validate` and the searches take as `scoring`; a search
        then needs a key or a callable as `refit`.

    Raises
    ------
    TypeError
        If an argument is of a wrong type, or if this function is itself passed as a scorer.
    ValueError
        If an argument is not one of those above, if `k` is missing where the metric needs it or
        given where it takes none, or if `output` is not ``"all"`` with ``method="both"``. The
        scorer itself raises it for labels and scores that cannot be ranked, for an int `k` larger
        than a fold, for multiclass or multilabel labels without `average`, and where
        ``method="analytic"`` is asked for and there is no such law.

    Warns
    -----
    UndefinedMetricWarning
        When the scorer is given labels without positives.
    UserWarning
        When a permutation p-value is at its floor, where candidates tie; when the exact p-value of
        a fold is not known, and that of permutation is in its place; when few different labellings
        of a fold are left; and what the test says of weights.

    See Also
    --------
    average_precision_significance_scorer : The scorer with the default of every argument.
    average_precision_test : The complete test, for labels and scores at hand.
    register_metric : Make a custom metric known by name.
    sklearn.metrics.make_scorer : Makes scorers of any metric function.
    sklearn.model_selection.permutation_test_score : Test of an estimator by refitting it.

    Notes
    -----
    The default score is

    .. math:: -\log_{10} P(S \ge s),

    for the value :math:`s` of the metric on the fold, under the hypothesis that every choice of the
    positives among the samples is equally likely, given the scores and their ties. Its mean over
    folds ranks candidates; it is not evidence itself, because training sets overlap and the best of
    many candidates is the best of many.

    So that a search costs little more than with average precision itself, an exact p-value that
    takes long may have a relative error of up to 1 percent, which is 0.004 of the default score;
    most have less than 0.01 percent. :func:`average_precision_test` takes the time for all digits.

    Where no relative error of an exact p-value below 10 percent can be stated, and where its
    computation fails, ``method="auto"`` takes the p-value of permutation.

    A fold that holds no evidence never spoils a search: with one class only, or one score only, the
    statistic is that of the test, p is 1 and everything else 0. A fold of multiclass labels in
    which a class is missing is an error, as it is in scikit-learn: use stratified folds.

    Weights, strata, clusters and the order of the samples reach scorers by metadata routing: enable
    it, call ``set_score_request(sample_weight=True)``, ``set_score_request(clusters=True)`` and so
    on, with `strata` or `order`, on the scorer, or on each scorer of a dict, and pass them as
    scikit-learn's tools take metadata, in `params` or to `fit`. Each fold gets its own rows, and
    permutes labels within strata, as those of whole clusters, or along the series, as
    :func:`average_precision_test` does. None of this has a law in closed form. A fold in which
    nothing can be permuted holds no evidence. Metrics other than average precision refuse weights.
    Clusters say nothing about the splits: samples that belong together need a splitter that keeps
    groups together as well.

    Halving searches such as :class:`sklearn.model_selection.HalvingGridSearchCV` take a single
    scorer, and no dict: ``output="all"`` and ``method="both"`` are not for them.

    :class:`sklearn.model_selection.TunedThresholdClassifierCV` has no use for these scorers: it
    varies the threshold of hard labels, while a ranking is the same for every threshold.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV, cross_val_score
    >>> from sklearn_rankinf import make_significance_scorer
    >>> X, y = make_classification(300, weights=[0.9], random_state=0)
    >>> scorer = make_significance_scorer("recall_at_k", k=0.1)
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

    Clusters by metadata routing, with folds that keep them together:

    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.model_selection import StratifiedGroupKFold
    >>> patient = np.repeat(np.arange(60), 5)
    >>> y = (patient < 12).astype(int)
    >>> cv = StratifiedGroupKFold(2, shuffle=True, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scorer = make_significance_scorer().set_score_request(clusters=True)
    ...     scores = cross_val_score(
    ...         LogisticRegression(),
    ...         X,
    ...         y,
    ...         cv=cv,
    ...         scoring=scorer,
    ...         params={"groups": patient, "clusters": patient},
    ...     )
    >>> scores.shape
    (2,)
    """
    keys = _keys_of(method, output)
    options: dict[str, Any] = {"method": "permutation" if method == "both" else method}
    options |= {"k": k, "average": average}
    options |= {"n_permutations": n_permutations, "random_state": random_state}
    _check_metric(metric, **options)
    check_weights_follow(weights_follow)
    if weights_follow != "label":
        check_takes_weights(metric, f"weights_follow={weights_follow!r}")
    if block_length is not None:
        check_integer(block_length, "block_length", 1)
    options |= {"weights_follow": weights_follow, "block_length": block_length}
    # A worker process knows the metrics of the package by name, and others by what is sent to it.
    metric = registered(metric)
    _check_response_method(response_method)
    check_pos_label(pos_label)
    # scikit-learn chooses a column of the scores by the scorer's pos_label, and refuses one that
    # is none of the classes even where no column is to be chosen.
    if average is None or pos_label != 1:
        options["pos_label"] = pos_label
    options["in_dict"] = keys is not None

    def scorer(output: str, method: str | None) -> Any:
        own = options if method is None else {**options, "method": method}
        named = {name: value for name, value in own.items() if value != _DEFAULTS[name]}
        return make_scorer(
            significance_score,
            response_method=response_method,
            metric=metric,
            output=output,
            **named,
        )

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
    k: float | None = None,
    pos_label: PosLabel | None = None,
    average: str | None = None,
    n_permutations: int = 999,
    random_state: Any = 0,
    in_dict: bool = False,
    weights_follow: str = "label",
    block_length: int | None = None,
    sample_weight: ArrayLike | None = None,
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
) -> float:
    """Score the labels and scores of one fold; see `make_significance_scorer`.

    Nothing is computed that `output` does not need, and a fold without evidence scores 0. Of the
    scorers in a dict, which all score the same folds, one warns of a fold without positives and one
    of p-values at their floor.
    """
    options = {"method": method, "n_permutations": n_permutations, "random_state": random_state}
    if k is not None:
        _check_fold_holds(k, np.shape(y_score)[0])
    chosen = as_metric(metric, k)
    of_samples: dict[str, Any] = {}
    if sample_weight is not None:
        of_samples = {"sample_weight": sample_weight, "weights_follow": weights_follow}
    restrictions: dict[str, Any] = {"strata": strata, "clusters": clusters, "order": order}
    restrictions["block_length"] = block_length
    of_samples |= {name: values for name, values in restrictions.items() if values is not None}
    warns = _warns(output, in_dict)
    if np.ndim(y_score) == 2 and np.shape(y_score)[1] > 1:
        _check_average_is_given(average, np.shape(y_score)[1])
        options |= {"average": average, **of_samples}
        score, ran = _score_by_test(y_true, y_score, chosen, output, options, warns)
    else:
        options["pos_label"] = _greater_label(y_true) if pos_label is None else pos_label
        score, ran = _score_binary(y_true, y_score, chosen, output, options, of_samples, in_dict)
    if warns and ran == "permutation" and _is_at_floor(score, output, n_permutations):
        _warn_of_the_floor(n_permutations)
    return score


_DEFAULTS = {
    name: parameter.default for name, parameter in signature(significance_score).parameters.items()
}


def _score_binary(
    y_true: ArrayLike,
    y_score: ArrayLike,
    metric: Metric,
    output: str,
    options: dict[str, Any],
    of_samples: dict[str, Any],
    in_dict: bool,
) -> tuple[float, str]:
    """Return one output for a binary ranking, and the method that ran."""
    pos_label = options.pop("pos_label")
    ranking = Ranking.from_scores(y_true, y_score, pos_label=pos_label)
    if ranking.n_positives == 0:
        if not in_dict or output == "statistic":
            _warn_of_no_positives()
    elif of_samples:
        options |= {"pos_label": pos_label, **of_samples}
        return _score_by_test(y_true, y_score, metric, output, options, _warns(output, in_dict))
    seen = observe_ranking(ranking, metric, **options)
    statistic, null = seen.statistic, seen.null
    # The law of a short list without ties is the same for many folds, and kept.
    in_a_hurry = ranking.n_samples > _SHORT or ranking.n_blocks < ranking.n_samples
    null = tolerating(null, _TOLERANCE) if in_a_hurry else null
    if "pvalue" not in output:
        return _read_without_tail(statistic, null, output), null.method
    if options["method"] == "auto" and null.method == "analytic":
        tail, failure = _tail_or_failure(statistic, null)
        if tail is not None:
            return tail[output], null.method
        null = observe_ranking(ranking, metric, **{**options, "method": "permutation"}).null
        if _warns(output, in_dict):
            _warn_of_permutation(failure)
    return _tail(statistic, null)[output], null.method


def _read_without_tail(statistic: float, null: NullDistribution, output: str) -> float:
    """Read an output off the null law, which computes nothing before it is asked."""
    if output == "statistic":
        return statistic
    scaled = standardized if output == "zscore" else adjusted
    return _or_nothing(float(scaled(statistic, null)))


def _tail(statistic: float, null: NullDistribution) -> dict[str, float]:
    """The p-value, its logarithm and its relative error."""
    pvalue, log_pvalue, error = pvalue_log_and_error(null, statistic, "greater")
    evidence = abs(float(as_log10(log_pvalue)))
    return {"pvalue": float(pvalue), "neg_log10_pvalue": evidence, "error": float(error)}


def _tail_or_failure(
    statistic: float, null: NullDistribution
) -> tuple[dict[str, float] | None, str]:
    """The tail of an exact law; or None, and why it is not to be had."""
    try:
        tail = _tail(statistic, null)
    except (ArithmeticError, MemoryError, ValueError) as failed:
        # All arguments were checked where the law was made: what fails here is the computation.
        return None, str(failed) or type(failed).__name__
    if tail["error"] <= UNKNOWN:
        return tail, ""
    return None, f"its relative error may be {tail['error']:.2g}"


def _score_by_test(
    y_true: ArrayLike,
    y_score: ArrayLike,
    metric: Metric,
    output: str,
    options: dict[str, Any],
    warns: bool,
) -> tuple[float, str]:
    """Read one output off the complete test: weights and averages have no law of a ranking."""
    if output == "statistic":
        options = {**options, "n_permutations": 1}  # the statistic does not depend on them
    silent = not warns and not _OF_SAMPLES.isdisjoint(options)
    with warnings.catch_warnings() if silent else nullcontext():
        for said_once in _SAID_ONCE if silent else ():
            warnings.filterwarnings("ignore", said_once, UserWarning)
        result = metric_test(y_true, y_score, metric=metric, **options)
    if output == "neg_log10_pvalue":
        return abs(float(result.log10_pvalue)), result.method
    field = "adjusted_statistic" if output == "adjusted" else output
    return _or_nothing(float(getattr(result, field))), result.method


def _warns(output: str, in_dict: bool) -> bool:
    """Whether this scorer warns for all those of a dict."""
    return output == "neg_log10_pvalue" or (output == "pvalue" and not in_dict)


def _or_nothing(score: float) -> float:
    """Turn what is undefined without both classes and two scores into no evidence."""
    return 0.0 if math.isnan(score) else score


def _greater_label(y_true: ArrayLike) -> PosLabel:
    """Positive label of binary labels when none is named, as scikit-learn's scorers take it."""
    labels = np.unique(np.asarray(y_true))
    if labels.size > 1:
        return labels[-1:].tolist()[0]  # type: ignore[no-any-return]
    label = labels.tolist()[0]
    if isinstance(label, str) or label not in (-1, 0, 1):
        raise ValueError(
            f"All samples have the label {label!r}, and nothing says whether it is that of the "
            "positives: pass pos_label to make_significance_scorer."
        )
    return 1


# Warnings: one text from one line whatever the output, so that a filter which counts texts and
# lines takes them for the same.


def _warn_of_no_positives() -> None:
    warnings.warn(
        "There are no positives in y_true, so that this fold holds no evidence: the statistic is "
        "set to 0, its p-value to 1. Stratified folds spread the positives evenly.",
        UndefinedMetricWarning,
        stacklevel=1,
    )


def _warn_of_permutation(failure: str) -> None:
    warnings.warn(
        f"The exact p-value of this fold is not known ({failure}), and that of permutation is in "
        "its place: pass method='permutation' to make_significance_scorer for the same in all "
        "folds.",
        UserWarning,
        stacklevel=1,
    )


def _warn_of_the_floor(n_permutations: int) -> None:
    warnings.warn(
        f"A permutation p-value is at its floor, 1/{n_permutations + 1} with {n_permutations} "
        "permutations, where candidates tie however much they differ: use method='analytic', "
        "which has no floor, or, where there is no analytic law, a larger n_permutations.",
        UserWarning,
        stacklevel=1,
    )


def _is_at_floor(score: float, output: str, n_permutations: int) -> bool:
    """Whether no random labelling was as extreme, so that p = 1 / (n_permutations + 1)."""
    pvalue = score if output == "pvalue" else 10.0**-score
    return pvalue * (n_permutations + 1) < 1.5


# What is asked for.


def _keys_of(method: str, output: str) -> Mapping[str, tuple[str, str | None]] | None:
    """Keys of the dict that is asked for; None for a single scorer."""
    check_option(output, "output", _OUTPUTS)
    if method != "both":
        return _ONE_METHOD if output == "all" else None
    if output not in ("neg_log10_pvalue", "all"):
        raise ValueError(
            f"method='both' returns a dict with every output; got output={output!r}: leave output "
            f"out, or pass method='analytic' or method='permutation' with output={output!r}."
        )
    return _BOTH_METHODS


def _check_metric(
    metric: Any, *, k: Any, average: Any, method: str, n_permutations: int, random_state: Any
) -> None:
    """Refuse now what every fold would refuse later."""
    chosen = as_metric(metric, k)
    check_scalar_k(chosen)
    check_average(average)
    if average is not None and not isinstance(chosen, Statistic):
        raise ValueError(
            f"metric={metric!r} has no average over classes; got average={average!r}: leave it "
            "out, and score one class with pos_label."
        )
    # The null law checks its arguments and computes nothing yet; a generator is left untouched.
    is_generator = isinstance(random_state, np.random.RandomState | np.random.Generator)
    cut: Any = getattr(chosen, "k", None)
    frozen_null_distribution(
        chosen,
        max(4, int(cut) + 1) if isinstance(cut, Integral) else 4,
        2,
        method=method,
        n_permutations=n_permutations,
        random_state=0 if is_generator else random_state,
    )


def _check_response_method(response_method: Any) -> None:
    methods = [response_method] if isinstance(response_method, str) else response_method
    if (
        not isinstance(methods, list | tuple)
        or not methods
        or any(name not in _RESPONSE_METHODS for name in methods)
    ):
        raise ValueError(
            f"response_method must be one of {', '.join(map(repr, _RESPONSE_METHODS))} or a list "
            f"of them; got {response_method!r}."
        )


def _check_fold_holds(k: float, n_samples: int) -> None:
    if isinstance(k, Integral) and k > n_samples:
        raise ValueError(
            f"k={k} is more than the {n_samples} samples of this fold: pass a smaller k to "
            "make_significance_scorer, or a fraction of the samples such as k=0.1."
        )


def _check_average_is_given(average: str | None, n_columns: int) -> None:
    if average is None:
        raise ValueError(
            f"y_score has {n_columns} columns, as for multiclass or multilabel labels, and there "
            "is no average over them: pass average='macro', 'weighted' or 'micro' to "
            "make_significance_scorer."
        )


average_precision_significance_scorer: Any = make_significance_scorer()
"""The evidence of average precision, -log10 p of the exact test: `make_significance_scorer()`."""
