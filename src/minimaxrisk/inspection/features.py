"""The selected features: their coefficients, their values, and how often subsamples select them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d

from minimaxrisk._utils.arguments import check_positive_integer
from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.guarantees.false_selections import at_most
from minimaxrisk.inspection import canvas
from minimaxrisk.inspection.canvas import BLACK, BLUE, PALE, RowsDisplay
from minimaxrisk.samples.validation import positions_of_labels

SELECTING = "a fitted MinimaxRiskClassifier or L1SVMClassifier"
OF_SELECTION = ("feature_importances_", "selected_features_", "classes_")
# More classes than this, and their legend would cover bars.
MOST_INSIDE = 4


@dataclass(eq=False, kw_only=True)
class SelectedFeaturesDisplay(RowsDisplay):
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
    bars_ : list of BarContainer
        One per class, with a bar per feature.
    """

    coefficients: FloatArray
    classes: list[str]
    n_selected: int

    @classmethod
    def from_estimator(cls, model: Any, *, max_features: int = 20, feature_names: Any = None) -> Self:
        """The features with the largest ``feature_importances_`` of a fitted classifier that selects.

        Parameters
        ----------
        model : MinimaxRiskClassifier or L1SVMClassifier, or Pipeline that ends with one
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
        classifier = canvas.fitted_classifier(model, ("coef_", *OF_SELECTION), SELECTING)
        selected = canvas.by_importance(classifier)
        shown = selected[:max_features]
        coef = np.asarray(classifier.coef_)[:, shown]
        importance = np.asarray(classifier.feature_importances_)[shown]
        return cls(
            names=canvas.feature_names_of(model, shown, feature_names),
            # The importance is the sum of the absolute coefficients, times the scale of the column.
            coefficients=coef * (importance / np.abs(coef).sum(axis=0)),
            classes=[str(label) for label in classifier.classes_],
            n_selected=len(selected),
        )

    def _draw(self, ax: Any) -> None:
        pieces = self._pieces()
        self.bars_ = [
            ax.barh(
                range(len(self.names)),
                piece,
                left=_inner_ends(pieces, position),
                label=label,
                **canvas.class_style(position),
            )
            for position, (piece, label) in enumerate(zip(pieces, self.classes, strict=True))
        ]
        ax.use_sticky_edges = False  # or the longest bar would end in the frame
        ax.axvline(0.0, color=BLACK, linewidth=0.8)
        self._label_rows(ax)
        ax.set_xlabel("standardised coefficient")
        if self.names:
            title = "larger values favour" if len(self.coefficients) == 1 else "right: for, left: against"
            outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            canvas.add_legend(ax, title=title, **(outside if len(self.classes) > MOST_INSIDE else {}))

    def _pieces(self) -> FloatArray:
        """A row per class; a single row is split by its sign, which tells the class."""
        if len(self.coefficients) > 1:
            return self.coefficients
        return np.vstack([np.minimum(self.coefficients, 0.0), np.maximum(self.coefficients, 0.0)])

    def _title(self) -> str:
        if len(self.names) == self.n_selected:
            return f"Selected features: {self.n_selected}"
        return f"Selected features: the {len(self.names)} most important of {self.n_selected}"


def _inner_ends(pieces: FloatArray, position: int) -> FloatArray:
    """Where the pieces of a class begin: at the end of the earlier ones of the same sign."""
    before = pieces[:position]
    to_the_right = np.maximum(before, 0.0).sum(axis=0)
    to_the_left = np.minimum(before, 0.0).sum(axis=0)
    return np.where(pieces[position] > 0, to_the_right, to_the_left)


# Standard deviations at which colours end: beyond it outliers would leave no contrast to the others.
COLOUR_END = 2.5


@dataclass(eq=False, kw_only=True)
class SelectedValuesDisplay(RowsDisplay):
    """Heat map of standardised values: a row per feature, a column per sample, samples ordered by class.

    Parameters
    ----------
    names : list of str
        Features, the most important one first.
    columns : ndarray of int
        Their columns in the data.
    samples : ndarray of int
        Positions of the drawn samples in the data, class by class.
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
    image_ : AxesImage
        The heat map.
    border_lines_ : list of Line2D
        The lines between classes.
    """

    _size: ClassVar[tuple[float, float]] = (8.0, 4.4)
    _grid: ClassVar[str] = ""

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
        max_samples: int = 200,
        feature_names: Any = None,
        sample_names: Any = None,
    ) -> Self:
        """From a fitted classifier that selects, and its training data.

        Parameters
        ----------
        model : MinimaxRiskClassifier or L1SVMClassifier, or Pipeline that ends with one
            Fitted. Of a pipeline the values after its other steps are drawn.
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Instances.
        y : array-like of shape (n_samples,)
            Their labels.
        max_features : int, default=60
            How many features to draw at most, the most important ones.
        max_samples : int, default=200
            How many samples to draw at most. Of more, evenly spaced ones are drawn, so that each class keeps
            its share.
        feature_names : sequence of str or None, default=None
            Names of all columns; None takes those of the frame that the model was fitted on, or numbers.
        sample_names : sequence of str or None, default=None
            Names of all samples; None takes their numbers.

        Returns
        -------
        SelectedValuesDisplay
            Ready to ``plot``.
        """
        check_positive_integer("max_features", max_features)
        check_positive_integer("max_samples", max_samples)
        classifier = canvas.fitted_classifier(model, OF_SELECTION, SELECTING)
        labels = column_or_1d(y)
        if sample_names is not None:
            canvas.check_number_of_names("sample_names", sample_names, len(labels))
        selected = canvas.by_importance(classifier)
        columns = selected[:max_features]
        codes = positions_of_labels(labels, classifier.classes_)
        drawn = np.argsort(codes, kind="stable")
        if len(drawn) > max_samples:
            drawn = drawn[np.linspace(0, len(drawn) - 1, max_samples).round().astype(np.intp)]
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

    def _draw(self, ax: Any) -> None:
        self.image_ = ax.imshow(
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
        self.border_lines_ = [ax.axvline(border, color=BLACK, linewidth=1.0) for border in borders]
        ax.set_yticks(range(len(self.names)), labels=self.names)
        ax.tick_params(axis="both", length=0)
        present = np.unique(self.labels)
        middles = [float(np.flatnonzero(self.labels == k).mean()) for k in present]
        ax.set_xticks(middles, labels=[self.classes[k] for k in present])
        ax.spines[:].set_visible(False)
        self.figure_.colorbar(self.image_, ax=ax, label="standard deviations from the mean", extend="both")

    def _title(self) -> str:
        features = f"{self.n_selected} selected features"
        if len(self.names) < self.n_selected:
            features = f"the {len(self.names)} most important of {features}"
        samples = f"{self.n_samples} samples"
        if len(self.samples) < self.n_samples:
            samples = f"{len(self.samples)} of {samples}"
        return f"{features}, {samples}"


def _standardised(X: DataMatrix, columns: IntArray) -> FloatArray:
    """The columns as rows, centred and scaled over all samples."""
    chosen = X[:, columns]
    values = np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen, dtype=float).T
    scale = values.std(axis=1, keepdims=True)
    return (values - values.mean(axis=1, keepdims=True)) / np.where(scale > 0, scale, 1.0)


@dataclass(eq=False, kw_only=True)
class StabilityDisplay(RowsDisplay):
    """Bars of the largest selection frequencies, with the threshold and the bounds on false selections.

    Parameters
    ----------
    names : list of str
        Features, the most frequent one first.
    frequencies : ndarray of shape (n_shown,)
        Their selection frequencies.
    threshold : float
        The frequency from which on a feature counts as selected.
    n_features : int
        Number of features, drawn or not.
    n_selected : int
        How many reach the threshold, drawn or not.
    meinshausen_buhlmann, shah_samworth : float
        Bounds on the expected number of false selections; NaN where a theorem does not apply.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    bars_ : BarContainer
        A bar per feature.
    threshold_line_ : Line2D
        The threshold.
    """

    frequencies: FloatArray
    threshold: float
    n_features: int
    n_selected: int
    meinshausen_buhlmann: float
    shah_samworth: float

    @classmethod
    def from_estimator(cls, selector: Any, *, max_features: int = 30, feature_names: Any = None) -> Self:
        """The features that a stability selection has ever selected.

        Parameters
        ----------
        selector : MinimaxRiskSelector or MinimaxRiskEnsembleClassifier
            Fitted with ``stability=True``, or with ``complementary=True``.
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
        drawn = ("selection_frequencies_", "n_features_in_", "false_selection_bounds_")
        canvas.check_fitted("selector", selector, "a MinimaxRiskSelector fitted with stability=True", drawn)
        bounds = selector.false_selection_bounds_
        frequencies = np.asarray(selector.selection_frequencies_, dtype=float)
        shown = np.argsort(-frequencies, kind="stable")[:max_features]
        shown = shown[frequencies[shown] > 0]
        return cls(
            names=canvas.feature_names_of(selector, shown, feature_names),
            frequencies=frequencies[shown],
            threshold=float(bounds.threshold),
            n_features=int(selector.n_features_in_),
            n_selected=int((frequencies >= bounds.threshold).sum()),
            meinshausen_buhlmann=float(bounds.meinshausen_buhlmann),
            shah_samworth=float(bounds.shah_samworth),
        )

    def _draw(self, ax: Any) -> None:
        colours = np.where(self.frequencies >= self.threshold, BLUE, PALE)
        self.bars_ = ax.barh(range(len(self.names)), self.frequencies, color=colours)
        self.threshold_line_ = ax.axvline(self.threshold, color=BLACK, linestyle="--")
        self._label_rows(ax)
        ax.set_xlim(0.0, 1.0)
        ax.set_xlabel(f"selection frequency (dashed: threshold {self.threshold:g})")

    def _title(self) -> str:
        return (
            f"{self.n_selected} of {self.n_features} features reach the threshold\n"
            f"expected false selections: {at_most(self.meinshausen_buhlmann)} (Meinshausen–Bühlmann),\n"
            f"{at_most(self.shah_samworth)} (Shah–Samworth)"
        )
