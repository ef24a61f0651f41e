"""The selected features: their coefficients, their values, and how often subsamples select them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import column_or_1d

from minimaxrisk._utils.arguments import check_positive_integer
from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray, dense_columns
from minimaxrisk.guarantees.certified import SELECTION, STABILITY, fitted_for
from minimaxrisk.inspection import canvas
from minimaxrisk.inspection.canvas import Display
from minimaxrisk.inspection.chart import INK, MAIN, PALE, SOFT, Axis, Chart, Mark, bars_of_rows, class_colour
from minimaxrisk.samples.labels import positions_of_labels


@dataclass(eq=False, kw_only=True)
class SelectedFeaturesDisplay(Display):
    """Bars of standardised coefficients, whose total length is the importance of the feature.

    Bars of two classes go to the left for the first class and to the right for the second. With more classes,
    pieces of a bar go to the right where larger values of the feature favour the class.

    Parameters
    ----------
    names : list of str
        Features, the most important one first.
    coefficients : ndarray of shape (1 or n_classes, n_shown)
        Coefficients times the scale of their columns.
    classes : list of str
        The labels.
    n_selected : int
        Number of selected features, drawn or not.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    artists_ : dict
        By the names of the classes, bars with one per feature.
    """

    names: list[str]
    coefficients: FloatArray
    classes: list[str]
    n_selected: int

    @classmethod
    def from_estimator(cls, model: Any, *, max_features: int = 20, feature_names: Any = None) -> Self:
        """The features with the largest ``feature_importances_`` of a fitted classifier that selects.

        Parameters
        ----------
        model : MinimaxRiskClassifier, or Pipeline that ends with one
            Fitted.
        max_features : int, default=20
            How many to draw at most.
        feature_names : sequence of str or None, default=None
            Names of all columns; None takes those of the frame that the model was fitted on, or numbers.

        Returns
        -------
        SelectedFeaturesDisplay
            Ready to ``plot``.
        """
        check_positive_integer("max_features", max_features)
        classifier = fitted_for(model, cls.__name__, SELECTION)[0]
        selected = canvas.by_importance(classifier)
        shown = selected[:max_features]
        coef = classifier._fitted_rule().full_coef[:, shown]
        importance = np.asarray(classifier.feature_importances_)[shown]
        return cls(
            names=canvas.feature_names_of(model, shown, feature_names),
            # The importance is the sum of the absolute coefficients, times the scale of the column.
            coefficients=coef * (importance / np.abs(coef).sum(axis=0)),
            classes=[str(label) for label in classifier.classes_],
            n_selected=len(selected),
        )

    def _chart(self) -> Chart:
        is_pair, places = len(self.coefficients) == 1, np.arange(len(self.names))
        # A row per class; a single row is split by its sign, which tells the class.
        pieces = self.coefficients
        if is_pair:
            pieces = np.vstack([np.minimum(pieces, 0.0), np.maximum(pieces, 0.0)])
        to_the_right, to_the_left = np.maximum(pieces, 0.0), np.minimum(pieces, 0.0)
        bars = []
        for position, label in enumerate(self.classes):
            # They begin at the end of the earlier ones of the same sign.
            earlier = (each[:position].sum(axis=0) for each in (to_the_right, to_the_left))
            start = np.where(pieces[position] > 0, *earlier)
            end = start + pieces[position]
            bars.append(bars_of_rows(label, class_colour(position), places, start, end, label=label))
        sides = "coloured by the class favoured" if is_pair else "right: for the class, left: against it"
        few = f"the {len(self.names)} most important of " if len(self.names) < self.n_selected else ""
        return Chart(
            x=Axis(f"standardised coefficient, {sides}"),
            y=Axis("feature", rows=self.names),
            marks=[Mark("rule", "zero", SOFT, 0.0, is_dashed=True), *bars],
            title=f"Selected features: {few}{self.n_selected}",
        )


# Standard deviations at which colours end: beyond it outliers would leave no contrast to the others.
COLOUR_END = 2.5
MOST_SAMPLES = 200  # of a heat map


@dataclass(eq=False, kw_only=True)
class SelectedValuesDisplay(Display):
    """Heat map of standardised values: a row per feature, a column per sample, samples ordered by class.

    Parameters
    ----------
    names : list of str
        Features, the most important one first.
    columns, samples : ndarray of int
        Their columns, and the positions of the drawn samples, class by class, in the data.
    sample_names : list of str
        Their names.
    labels : ndarray of int
        Their classes, as positions in ``classes``.
    classes : list of str
        The labels.
    values : ndarray of shape (n_features_shown, n_samples_shown)
        Values less the mean of the feature over all samples, in its standard deviations.
    n_selected, n_samples : int
        Numbers of selected features and of samples, drawn or not.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    artists_ : dict
        The heat map ``"values"``, and ``"borders"``, the lines between classes.
    """

    _size: ClassVar[tuple[float, float]] = (8.0, 4.4)

    names: list[str]
    columns: IntArray
    samples: IntArray
    sample_names: list[str]
    labels: IntArray
    classes: list[str]
    values: FloatArray
    n_selected: int
    n_samples: int

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        max_features: int = 60,
        feature_names: Any = None,
        sample_names: Any = None,
    ) -> Self:
        """From a fitted classifier that selects, and its training data.

        Of more than 200 samples evenly spaced ones are drawn, so that each class keeps its share.

        Parameters
        ----------
        model : MinimaxRiskClassifier, or Pipeline that ends with one
            Fitted. Of a pipeline the values after its other steps are drawn.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Instances.
        y : array-like of shape (n_samples,)
            Their labels.
        max_features : int, default=60
            How many features to draw at most, the most important ones.
        feature_names, sample_names : sequence of str or None, default=None
            Names of all columns and samples; None takes the columns of the frame that the model was fitted
            on, or numbers.

        Returns
        -------
        SelectedValuesDisplay
            Ready to ``plot``.
        """
        check_positive_integer("max_features", max_features)
        classifier = fitted_for(model, cls.__name__, SELECTION)[0]
        labels = column_or_1d(y)
        if sample_names is not None:
            canvas.check_number_of_names("sample_names", sample_names, len(labels))
        selected = canvas.by_importance(classifier)
        columns = selected[:max_features]
        codes = positions_of_labels(labels, classifier.classes_)
        drawn = np.argsort(codes, kind="stable")
        if len(drawn) > MOST_SAMPLES:
            drawn = drawn[np.linspace(0, len(drawn) - 1, MOST_SAMPLES).round().astype(np.intp)]
        return cls(
            names=canvas.feature_names_of(model, columns, feature_names),
            columns=columns,
            samples=drawn,
            sample_names=[f"row {i}" if sample_names is None else str(sample_names[i]) for i in drawn],
            labels=codes[drawn],
            classes=[str(label) for label in classifier.classes_],
            values=_standardised(canvas.seen_by(model, X), columns)[:, drawn],
            n_selected=len(selected),
            n_samples=len(labels),
        )

    def _chart(self) -> Chart:
        """Return axes alone, because a heat map is not a mark of a chart."""
        features = f"{self.n_selected} selected features"
        if len(self.names) < self.n_selected:
            features = f"the {len(self.names)} most important of {features}"
        samples = f"{self.n_samples} samples"
        if len(self.samples) < self.n_samples:
            samples = f"{len(self.samples)} of {samples}"
        return Chart(Axis("sample"), Axis("feature", rows=self.names), title=f"{features}, {samples}")

    def _draw(self, chart: Chart) -> dict[str, Any]:
        ax = self.ax_
        image = ax.imshow(
            self.values,
            aspect="auto",
            # Without features there is no height, and matplotlib wants one.
            extent=(-0.5, len(self.samples) - 0.5, max(len(self.names), 1) - 0.5, -0.5),
            cmap="RdBu_r",
            vmin=-COLOUR_END,
            vmax=COLOUR_END,
            interpolation="nearest",
        )
        borders = np.flatnonzero(np.diff(self.labels)) + 0.5
        lines = [ax.axvline(border, color="0.1", linewidth=1.0) for border in borders]
        ax.set_yticks(range(len(self.names)), labels=self.names)
        ax.tick_params(axis="both", length=0)
        present = np.unique(self.labels)
        middles = [float(np.flatnonzero(self.labels == k).mean()) for k in present]
        ax.set_xticks(middles, labels=[self.classes[k] for k in present])
        ax.spines[:].set_visible(False)
        self.figure_.colorbar(image, ax=ax, label="standard deviations from the mean", extend="both")
        return {"values": image, "borders": lines}


def _standardised(X: DataMatrix, columns: IntArray) -> FloatArray:
    """The columns as rows, centred and scaled over all samples."""
    values = dense_columns(X, columns).T
    scale = values.std(axis=1, keepdims=True)
    return (values - values.mean(axis=1, keepdims=True)) / np.where(scale > 0, scale, 1.0)


@dataclass(eq=False, kw_only=True)
class StabilityDisplay(Display):
    """Bars of the largest selection frequencies, with the threshold.

    Parameters
    ----------
    names : list of str
        Features, the most frequent one first.
    frequencies : ndarray of shape (n_shown,)
        Their selection frequencies.
    threshold : float
        The frequency from which on a feature counts as selected: that of a selector, 1/2 of an ensemble.
    n_features, n_selected : int
        Number of features, and of those that reach the threshold, drawn or not.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    artists_ : dict
        The bars ``"reached"``, of the features that reach the threshold, and ``"missed"``, of the others,
        and the line ``"threshold"``.
    """

    names: list[str]
    frequencies: FloatArray
    threshold: float
    n_features: int
    n_selected: int

    @classmethod
    def from_estimator(
        cls,
        selector: Any,
        *,
        max_features: int = 30,
        feature_names: Any = None,
    ) -> Self:
        """The features that parts of the samples have ever selected.

        Parameters
        ----------
        selector : MinimaxRiskSelector or MinimaxRiskEnsembleClassifier
            Fitted, a selector with ``stability=True``.
        max_features : int, default=30
            How many to draw at most.
        feature_names : sequence of str or None, default=None
            Names of all columns; None takes those that the selector knows, else their numbers.

        Returns
        -------
        StabilityDisplay
            Ready to ``plot``.
        """
        check_positive_integer("max_features", max_features)
        selector = fitted_for(selector, cls.__name__, STABILITY)[0]
        if not hasattr(selector, "selection_frequencies_"):
            raise ValueError(
                "StabilityDisplay needs selection_frequencies_, which this fit does not have; fit "
                "MinimaxRiskSelector with stability=True."
            )
        threshold = getattr(selector, "threshold_", 0.5)
        frequencies = np.asarray(selector.selection_frequencies_, dtype=float)
        shown = np.argsort(-frequencies, kind="stable")[:max_features]
        shown = shown[frequencies[shown] > 0]
        return cls(
            names=canvas.feature_names_of(selector, shown, feature_names),
            frequencies=frequencies[shown],
            threshold=float(threshold),
            n_features=int(selector.n_features_in_),
            n_selected=int((frequencies >= threshold).sum()),
        )

    def _chart(self) -> Chart:
        reach = self.frequencies >= self.threshold
        bars = [
            bars_of_rows(name, colour, np.flatnonzero(which), 0.0, self.frequencies[which])
            for name, colour, which in (("reached", MAIN, reach), ("missed", PALE, ~reach))
        ]
        return Chart(
            x=Axis(f"selection frequency (dashed: threshold {self.threshold:g})", limits=(0.0, 1.0)),
            y=Axis("feature", rows=self.names),
            marks=[*bars, Mark("rule", "threshold", INK, self.threshold, is_dashed=True)],
            title=f"{self.n_selected} of {self.n_features} features reach the threshold",
        )
