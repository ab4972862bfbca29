"""Precision-recall curve of two normal distributions of scores, and the area under the curve."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_ndtr, logit, ndtr, ndtri

from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    Sample,
    as_floats,
    as_numbers,
    check_between,
    check_integer,
    check_positive,
    check_real,
    shown,
)
from sklearn_rankinf._statistics import Floats

# Normal quantiles beyond which the tail probability vanishes in double precision.
_END = 38.0
# Width of the panels, on the scale of positives and on that of negatives, and number of
# Gauss-Legendre nodes in each. The nearest pole of the precision is more than half a panel away
# even at the far end of the scale, so that the error of the rule is below rounding.
_PANEL, _N_NODES = 0.125, 20


@dataclass(frozen=True, repr=False)
class BinormalPrecisionRecallCurve:
    r"""Precision-recall curve of scores that are normal within each class.

    The curve is smooth and has only a few parameters, which :meth:`from_predictions` estimates from
    a sample [1]_.

    Parameters
    ----------
    prevalence : float
        Fraction of positives, between 0 and 1.
    mean_positive, sd_positive : float
        Mean and standard deviation of the scores of positives.
    mean_negative, sd_negative : float
        Mean and standard deviation of the scores of negatives.

    Raises
    ------
    TypeError
        If a parameter is not a number.
    ValueError
        If `prevalence` is not between 0 and 1, a mean is not finite, a standard deviation is not
        positive and finite, or the scales of the two classes differ too much for floating-point
        numbers.

    See Also
    --------
    binormal_average_precision_score : The area under the curve fitted to a sample.
    sklearn.metrics.precision_recall_curve : The empirical curve of a sample.

    Notes
    -----
    With the prevalence :math:`\alpha` and the normal distribution function :math:`\Phi`, the
    precision at recall r, threshold c and false positive rate f is

    .. math:: p(r) = \frac{\alpha r}{\alpha r + (1 - \alpha) f}, \qquad
              f = 1 - \Phi\left(\frac{c - \mu_N}{\sigma_N}\right), \qquad
              c = \mu_P + \sigma_P \Phi^{-1}(1 - r).

    At recall 1 the precision is the prevalence. As recall approaches 0, it tends to 1 if the scores
    of positives have the larger standard deviation, and to 0 if the scores of negatives have. If
    both standard deviations are equal, it tends to 1, 0 or the prevalence if the mean of the
    positives is larger, smaller or the same. The curve need not be monotone if the standard
    deviations differ.

    References
    ----------
    .. [1] Brodersen, K. H., Ong, C. S., Stephan, K. E., & Buhmann, J. M. (2010). The binormal
       assumption on precision-recall curves. In 20th International Conference on Pattern
       Recognition, 4263-4266.

    Examples
    --------
    >>> from sklearn_rankinf import BinormalPrecisionRecallCurve
    >>> curve = BinormalPrecisionRecallCurve(0.1, 2.0, 1.0, 0.0, 1.0)
    >>> round(curve.average_precision, 6), round(curve.roc_auc, 6)
    (0.665471, 0.92135)
    >>> curve.precision([0.0, 0.5, 1.0]).round(4)
    array([1.    , 0.7095, 0.1   ])
    """

    prevalence: float
    mean_positive: float
    sd_positive: float
    mean_negative: float
    sd_negative: float

    def __post_init__(self) -> None:
        readers = {"prevalence": check_between, "sd_positive": check_positive}
        readers["sd_negative"] = check_positive
        for name, value in asdict(self).items():
            number = readers.get(name, _check_finite)(value, name)
            object.__setattr__(self, name, number)
        if not (0.0 < self._ratio < math.inf and math.isfinite(self._shift)):
            raise ValueError(
                "The scales of the two classes differ too much for floating-point numbers; got "
                f"mean_positive={self.mean_positive}, sd_positive={self.sd_positive}, "
                f"mean_negative={self.mean_negative}, sd_negative={self.sd_negative}."
            )

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4g}" for name, value in asdict(self).items())
        return f"{type(self).__name__}({values})"

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | None = None,
        *,
        pos_label: PosLabel = 1,
    ) -> BinormalPrecisionRecallCurve:
        """Fit the curve to labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Binary labels.
        y_score : array-like of shape (n_samples,)
            Scores, larger for items more likely to be positive. The numerical scores are needed;
            a :class:`Ranking` is not accepted.
        pos_label : int, float, bool or str, default=1
            The label of the positives.

        Returns
        -------
        curve : BinormalPrecisionRecallCurve
            The curve with the fraction of positives, and with the means and standard deviations of
            the two classes; the standard deviations have divisors m - 1 and n - m - 1.

        Raises
        ------
        TypeError
            If there are no scores, or labels or scores have the wrong type.
        ValueError
            If labels or scores are invalid or not binary, or a class has fewer than two items or
            only equal scores.

        See Also
        --------
        binormal_average_precision_score : The area under the curve.

        Notes
        -----
        The fit assumes that scores are normal within each class, so a monotone transformation of
        the scores changes the result. Transform probabilities to log odds, the scale of the
        decision function of a logistic regression.

        Examples
        --------
        >>> from sklearn_rankinf import BinormalPrecisionRecallCurve
        >>> BinormalPrecisionRecallCurve.from_predictions([1, 1, 0, 0, 0], [3, 5, 1, 2, 3])
        BinormalPrecisionRecallCurve(prevalence=0.4, mean_positive=4, sd_positive=1.414, \
mean_negative=2, sd_negative=1)
        """
        if isinstance(y_true, Ranking):
            raise TypeError(
                "y_true is a Ranking, which contains the order of the items, not their scores; "
                "pass labels and scores to fit the binormal curve."
            )
        if y_score is None:
            raise TypeError("y_score is missing; pass the scores to fit the binormal curve.")
        sample = Sample.read(y_true, y_score, pos_label=pos_label)
        positive, scores = sample.positive, as_floats(sample.scores[0], "y_score")
        of_positives = _mean_and_sd(scores[positive], "positive", "positives")
        of_negatives = _mean_and_sd(scores[~positive], "negative", "negatives")
        return cls(float(positive.mean()), *of_positives, *of_negatives)

    def precision(self, recall: ArrayLike) -> Any:
        """Precision at values of recall.

        Parameters
        ----------
        recall : float or array-like
            Recall, from 0 to 1. The value at 0 is the limit.

        Returns
        -------
        precision : float or ndarray
            Precision, of the shape of `recall`.

        Raises
        ------
        ValueError
            If a value of `recall` is not between 0 and 1.

        Examples
        --------
        >>> from sklearn_rankinf import BinormalPrecisionRecallCurve
        >>> round(BinormalPrecisionRecallCurve(0.5, 1.0, 1.0, 0.0, 1.0).precision(0.5), 4)
        0.7591
        """
        r = as_numbers(recall, "recall")
        if not np.all((r >= 0.0) & (r <= 1.0)):
            raise ValueError(f"recall must lie between 0 and 1; got {shown(recall)}.")
        inner = (r > 0.0) & (r < 1.0)
        values = self._precision_at(ndtri(np.where(inner, r, 0.5)))
        values = np.select([inner, r > 0.0], [values, self.prevalence], self._first_precision)
        return values if values.ndim else float(values)

    def curve(self, n_points: int = 201) -> tuple[Floats, Floats]:
        """Points of the curve, most closely spaced at its ends.

        Parameters
        ----------
        n_points : int, default=201
            Number of points, both ends included.

        Returns
        -------
        precision, recall : ndarray of shape (n_points,)
            Precision and recall in the order of :func:`sklearn.metrics.precision_recall_curve`,
            from recall 1 to recall 0.

        Raises
        ------
        TypeError
            If `n_points` is not an integer.
        ValueError
            If `n_points` is less than 2.

        Examples
        --------
        >>> from sklearn_rankinf import BinormalPrecisionRecallCurve
        >>> precision, recall = BinormalPrecisionRecallCurve(0.5, 1.0, 1.0, 0.0, 1.0).curve(3)
        >>> recall, precision.round(4)
        (array([1. , 0.5, 0. ]), array([0.5   , 0.7591, 1.    ]))
        """
        steps = np.linspace(-1.0, 1.0, check_integer(n_points, "n_points", 2))
        recall = 0.5 * (1.0 - np.sin(0.5 * np.pi * steps))
        return np.asarray(self.precision(recall)), recall

    @property
    def average_precision(self) -> float:
        """Area under the curve."""
        return _area(self)

    @property
    def roc_auc(self) -> float:
        """Area under the ROC curve of the same two distributions."""
        return float(ndtr(self._shift / math.hypot(1.0, self._ratio)))

    def to_dict(self) -> dict[str, float]:
        """Return the parameters and the two areas by name.

        Returns
        -------
        dict
            Keys are the names of the parameters, ``"average_precision"`` and ``"roc_auc"``.
        """
        areas = {"average_precision": self.average_precision, "roc_auc": self.roc_auc}
        return {**asdict(self), **areas}

    @property
    def _ratio(self) -> float:
        """Standard deviation of positives in units of that of negatives."""
        return self.sd_positive / self.sd_negative

    @property
    def _shift(self) -> float:
        """Difference of the means in units of the standard deviation of negatives."""
        return (self.mean_positive - self.mean_negative) / self.sd_negative

    @property
    def _first_precision(self) -> float:
        """Limit of precision as recall tends to 0; the class with the wider normal tail wins."""
        wider = self._ratio - 1.0 or self._shift
        return self.prevalence if wider == 0.0 else float(wider > 0.0)

    def _precision_at(self, z: Floats) -> Floats:
        """Precision at the recall with normal quantile z, from the logarithms of both rates."""
        # The difference of the logarithms is taken first, so that equal rates cancel exactly.
        with np.errstate(over="ignore", under="ignore"):
            log_false_rate = log_ndtr(self._ratio * z - self._shift)
            return np.asarray(expit(logit(self.prevalence) + (log_ndtr(z) - log_false_rate)))

    def plot(self, ax: Any = None, *, name: str = "Binormal", **curve_kwargs: Any) -> Any:
        """Draw the curve, for example on the axes of scikit-learn's display.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on, such as those of a :class:`sklearn.metrics.PrecisionRecallDisplay`; by
            default new axes.
        name : str, default="Binormal"
            Name in the legend.
        **curve_kwargs
            Keywords of matplotlib's ``plot``.

        Returns
        -------
        ax : matplotlib axes
            The axes with the curve.

        Raises
        ------
        ImportError
            If `ax` is not given and matplotlib is not installed.

        Examples
        --------
        >>> from sklearn.metrics import PrecisionRecallDisplay
        >>> from sklearn_rankinf import BinormalPrecisionRecallCurve
        >>> y_true, y_score = [1, 1, 0, 1, 0, 0], [2.1, 1.4, 1.2, 0.6, 0.3, -0.8]
        >>> curve = BinormalPrecisionRecallCurve.from_predictions(y_true, y_score)
        >>> observed = PrecisionRecallDisplay.from_predictions(y_true, y_score)
        >>> curve.plot(observed.ax_)
        <Axes: xlabel='Recall (Positive label: 1)', ylabel='Precision (Positive label: 1)'>
        """
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError(
                    "BinormalPrecisionRecallCurve.plot needs matplotlib: pip install "
                    '"sklearn-rankinf[plot]".'
                ) from error
            ax = plt.subplots(layout="constrained")[1]
            ax.set(xlabel="Recall", ylabel="Precision", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
            # The aspect ratio is equal, as in scikit-learn's display.
            ax.set_aspect("equal")
        precision, recall = self.curve()
        label = f"{name} (AP = {self.average_precision:.2f})"
        ax.plot(recall, precision, **{"label": label, **curve_kwargs})
        ax.legend()
        return ax


def _area(curve: BinormalPrecisionRecallCurve) -> float:
    """Integral of precision over recall, transformed to the normal quantile of recall.

    The integrand varies on the scale of z and on the scale of the negatives, which may be much
    finer or coarser, so the panels are short on both scales.
    """
    edges = np.arange(-_END, _END + _PANEL, _PANEL)
    with np.errstate(over="ignore"):
        of_negatives = (edges + curve._shift) / curve._ratio
    edges = np.unique(np.r_[edges, np.clip(of_negatives, -_END, _END)])
    nodes, weights = np.polynomial.legendre.leggauss(_N_NODES)
    half = 0.5 * np.diff(edges)[:, None]
    z = edges[:-1, None] + half * (1.0 + nodes)
    with np.errstate(under="ignore"):
        density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
        return min(float(np.sum(half * weights * density * curve._precision_at(z))), 1.0)


def _mean_and_sd(scores: Floats, name: str, names: str) -> tuple[float, float]:
    """Mean and standard deviation of the scores in a class."""
    if scores.size < 2:
        found = f"one {name}" if scores.size else f"no {names}"
        raise ValueError(
            f"y_true contains {found}, but the binormal curve needs at least two items of each "
            "class to estimate standard deviations."
        )
    if np.all(scores == scores[0]):
        raise ValueError(
            f"The {scores.size} {names} have the same score, {scores[0].item()!r}, but the "
            "binormal curve needs scores that vary within each class."
        )
    # Scaling by a power of two is exact and prevents overflow and underflow of the squares.
    exponent = math.frexp(np.max(np.abs(scores)))[1]
    scaled = np.ldexp(scores, -exponent)
    mean, deviation = float(np.mean(scaled)), float(np.std(scaled, ddof=1))
    return math.ldexp(mean, exponent), math.ldexp(deviation, exponent)


def _check_finite(value: Any, name: str) -> float:
    """Read a finite number."""
    number = check_real(value, name)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite; got {value}.")
    return number


def binormal_average_precision_score(
    y_true: ArrayLike, y_score: ArrayLike | None = None, *, pos_label: PosLabel = 1
) -> float:
    r"""Average precision of the binormal curve fitted to a sample.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Binary labels.
    y_score : array-like of shape (n_samples,)
        Scores, larger for items more likely to be positive. The numerical scores are needed; a
        :class:`Ranking` is not accepted.
    pos_label : int, float, bool or str, default=1
        The label of the positives.

    Returns
    -------
    score : float
        Area under the fitted curve, between 0 and 1.

    Raises
    ------
    TypeError
        If there are no scores, or labels or scores have the wrong type.
    ValueError
        If labels or scores are invalid or not binary, or a class has fewer than two items or only
        equal scores.

    See Also
    --------
    BinormalPrecisionRecallCurve : The curve and its parameters.
    sklearn.metrics.average_precision_score : Average precision of the sample, which assumes
        nothing about the scores.

    Notes
    -----
    The area :math:`\int_0^1 p(r)\,dr` is computed by Gauss-Legendre quadrature, with an error below
    1e-12. If scores are normal within each class, it estimates average precision in the population,
    with fewer data than the empirical average precision of the sample requires [1]_. If they are
    not normal, it is biased for any sample size.

    References
    ----------
    .. [1] Brodersen, K. H., Ong, C. S., Stephan, K. E., & Buhmann, J. M. (2010). The binormal
       assumption on precision-recall curves. In 20th International Conference on Pattern
       Recognition, 4263-4266.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import binormal_average_precision_score
    >>> y_true = np.repeat([1, 0], [20, 180])
    >>> y_score = np.random.default_rng(0).normal(size=200) + 2.0 * y_true
    >>> round(binormal_average_precision_score(y_true, y_score), 4)
    0.6031
    """
    curve = BinormalPrecisionRecallCurve.from_predictions(y_true, y_score, pos_label=pos_label)
    return curve.average_precision
