"""Display of the precision-recall curve of two normal distributions of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from sklearn_rankinf._binormal_curve import BinormalPrecisionRecallCurve
from sklearn_rankinf._plot._matplotlib import hide_spines, import_pyplot, merged_style
from sklearn_rankinf._ranking import PosLabel, estimator_scores

_RESPONSE_METHODS = ("decision_function", "predict_proba")


class BinormalPrecisionRecallDisplay:
    """Binormal precision-recall curve, on the axes of scikit-learn's precision-recall display.

    Use :meth:`from_estimator` or :meth:`from_predictions` to create a display, or pass a curve.

    Parameters
    ----------
    curve : BinormalPrecisionRecallCurve
        The curve.
    name : str, optional
        Name in the legend; "Binormal" by default.

    Attributes
    ----------
    curve : BinormalPrecisionRecallCurve
        The curve.
    name : str or None
        The name.
    line_ : matplotlib artist
        The line of the curve.
    chance_level_ : matplotlib artist or None
        The line at the prevalence.
    ax_ : matplotlib axes
        The axes of the plot.
    figure_ : matplotlib figure
        The figure that contains the axes.

    Raises
    ------
    TypeError
        If `curve` is not a :class:`BinormalPrecisionRecallCurve`.

    See Also
    --------
    BinormalPrecisionRecallCurve : The curve and its parameters.
    sklearn.metrics.PrecisionRecallDisplay : The empirical curve of a sample.

    Examples
    --------
    >>> from sklearn_rankinf import BinormalPrecisionRecallCurve, BinormalPrecisionRecallDisplay
    >>> curve = BinormalPrecisionRecallCurve(0.1, 2.0, 1.0, 0.0, 1.0)
    >>> BinormalPrecisionRecallDisplay(curve).plot()  # doctest: +SKIP
    <...>
    """

    line_: Any
    chance_level_: Any
    ax_: Any
    figure_: Any

    def __init__(self, curve: BinormalPrecisionRecallCurve, *, name: str | None = None) -> None:
        if not isinstance(curve, BinormalPrecisionRecallCurve):
            raise TypeError(
                "curve must be a BinormalPrecisionRecallCurve; got an object of type "
                f"{type(curve).__name__}: pass a curve, or use from_predictions for labels."
            )
        self.curve = curve
        self.name = name

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: Mapping[str, Any] | None = None,
        despine: bool = False,
    ) -> BinormalPrecisionRecallDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on, such as those of a :class:`sklearn.metrics.PrecisionRecallDisplay`; by
            default new axes.
        name : str, optional
            Name in the legend, instead of that of the display.
        curve_kwargs : dict, optional
            Keywords of matplotlib's ``plot`` for the curve.
        plot_chance_level : bool, default=False
            Whether to draw the prevalence, the precision of a random order.
        chance_level_kw : dict, optional
            Keywords of matplotlib's ``plot`` for the chance level.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        display : BinormalPrecisionRecallDisplay
            The display, with its artists as attributes.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = import_pyplot(f"{type(self).__name__}.plot")
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_, self.chance_level_ = ax, ax.figure, None
        title = name or self.name or "Binormal"
        style = {"label": f"{title} (AP = {self.curve.average_precision:.2f})"}
        precision, recall = self.curve.curve()
        (self.line_,) = ax.plot(recall, precision, **merged_style(style, curve_kwargs))
        if plot_chance_level:
            level = self.curve.prevalence
            style = {"color": "k", "linestyle": "--", "label": f"Chance level (AP = {level:.2f})"}
            (self.chance_level_,) = ax.plot(
                [0.0, 1.0], [level, level], **merged_style(style, chance_level_kw)
            )
        ax.set(xlabel="Recall", ylabel="Precision", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        # The aspect ratio is equal, as in scikit-learn's display.
        ax.set_aspect("equal")
        ax.legend()
        if despine:
            hide_spines(ax)
        return self

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        pos_label: PosLabel = 1,
        name: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> BinormalPrecisionRecallDisplay:
        """Fit the curve to labels and scores, and draw it.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Binary labels.
        y_score : array-like of shape (n_samples,)
            Scores, larger for samples more likely to be positive.
        pos_label : int, float, bool or str, default=1
            The label of the positives.
        name : str, optional
            Name in the legend.
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes.
        **plot_options
            Other options of :meth:`plot`.

        Returns
        -------
        display : BinormalPrecisionRecallDisplay
            The display, after plotting.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError, ValueError
            As for :meth:`BinormalPrecisionRecallCurve.from_predictions`.

        Examples
        --------
        >>> from sklearn.metrics import PrecisionRecallDisplay
        >>> from sklearn_rankinf import BinormalPrecisionRecallDisplay
        >>> y_true, y_score = [1, 1, 0, 1, 0, 0], [2.1, 1.4, 1.2, 0.6, 0.3, -0.8]
        >>> observed = PrecisionRecallDisplay.from_predictions(
        ...     y_true, y_score
        ... )  # doctest: +SKIP
        >>> BinormalPrecisionRecallDisplay.from_predictions(
        ...     y_true, y_score, ax=observed.ax_
        ... )  # doctest: +SKIP
        <...>
        """
        import_pyplot(f"{cls.__name__}.from_predictions")
        curve = BinormalPrecisionRecallCurve.from_predictions(y_true, y_score, pos_label=pos_label)
        return cls(curve, name=name).plot(ax, **plot_options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        pos_label: PosLabel = 1,
        response_method: str | Sequence[str] = _RESPONSE_METHODS,
        name: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> BinormalPrecisionRecallDisplay:
        """Fit the curve to the scores of an estimator on held-out samples, and draw it.

        Parameters
        ----------
        estimator : object
            A fitted classifier, or a pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Samples that were not used to train the estimator.
        y : array-like of shape (n_samples,)
            Binary labels.
        pos_label : int, float, bool or str, default=1
            The label of the positives.
        response_method : str or sequence of str, default=("decision_function", "predict_proba")
            Methods of the estimator that return the scores; the first available one is used.
            Probabilities are rarely normal within a class.
        name : str, optional
            Name in the legend; the class of the estimator by default.
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes.
        **plot_options
            Other options of :meth:`plot`.

        Returns
        -------
        display : BinormalPrecisionRecallDisplay
            The display, after plotting.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError, ValueError
            As for :meth:`BinormalPrecisionRecallCurve.from_predictions`, or if the estimator has
            none of the response methods or not the class `pos_label`.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_rankinf import BinormalPrecisionRecallDisplay
        >>> X, y = make_classification(400, weights=[0.9], random_state=0)
        >>> model = LogisticRegression().fit(X[:200], y[:200])
        >>> BinormalPrecisionRecallDisplay.from_estimator(
        ...     model, X[200:], y[200:]
        ... )  # doctest: +SKIP
        <...>
        """
        import_pyplot(f"{cls.__name__}.from_estimator")
        scores = estimator_scores(estimator, X, pos_label, response_method)
        name = f"{type(estimator).__name__}, binormal" if name is None else name
        return cls.from_predictions(
            y, scores, pos_label=pos_label, name=name, ax=ax, **plot_options
        )
