"""Values of the selected features, sample by sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d

from minimaxrisk._utils.arrays import DataMatrix, FloatArray, IntArray
from minimaxrisk.inspection import sources
from minimaxrisk.inspection.canvas import BLACK, figure_and_axes, height_of_rows
from minimaxrisk.inspection.sources import check_fitted, check_limit, check_number_of_names
from minimaxrisk.samples.validation import positions_of_labels

# Standard deviations at which colours end: beyond it outliers would leave no contrast to the others.
COLOUR_END = 2.5


@dataclass(eq=False, kw_only=True)
class SelectedValuesDisplay:
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
    ax_ : Axes
        Where ``plot`` has drawn.
    figure_ : Figure
        The figure of ``ax_``.
    image_ : AxesImage
        The heat map.
    border_lines_ : list of Line2D
        The lines between classes.
    """

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
        max_samples: int = 200,
        feature_names: Any = None,
        sample_names: Any = None,
    ) -> SelectedValuesDisplay:
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

        Raises
        ------
        TypeError
            If ``model`` lacks an attribute that is drawn.
        ValueError
            If ``y`` holds a label that the model has not learned.
        """
        classifier = sources.last_step(model)
        check_fitted(
            "model",
            classifier,
            "a fitted MinimaxRiskClassifier or L1SVMClassifier",
            ("feature_importances_", "selected_features_", "classes_"),
        )
        labels = column_or_1d(y)
        if sample_names is not None:
            check_number_of_names("sample_names", sample_names, len(labels))
        selected = sources.by_importance(classifier)
        columns = selected[: check_limit("max_features", max_features)]
        codes = positions_of_labels(labels, classifier.classes_)
        drawn = _evenly(np.argsort(codes, kind="stable"), check_limit("max_samples", max_samples))
        return cls(
            names=sources.feature_names(model, columns, feature_names),
            columns=columns,
            samples=drawn,
            sample_names=[f"row {i}" if sample_names is None else str(sample_names[i]) for i in drawn],
            labels=codes[drawn],
            classes=[str(label) for label in classifier.classes_],
            values=_standardised(sources.seen_by(model, X), columns)[:, drawn],
            n_selected=len(selected),
            n_samples=len(labels),
        )

    def plot(self, ax: Any = None) -> SelectedValuesDisplay:
        """Draw on ``ax``, or on a figure of its own; needs the extra ``plot``.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        self
            The display, with the axes and the artists as attributes.
        """
        self.figure_, self.ax_ = figure_and_axes(ax, width=8.0, height=height_of_rows(len(self.names)))
        self.image_ = self.ax_.imshow(
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
        self.border_lines_ = [self.ax_.axvline(border, color=BLACK, linewidth=1.0) for border in borders]
        self.ax_.set_yticks(range(len(self.names)), labels=self.names)
        self.ax_.tick_params(axis="both", length=0)
        present = np.unique(self.labels)
        middles = [float(np.flatnonzero(self.labels == k).mean()) for k in present]
        self.ax_.set_xticks(middles, labels=[self.classes[k] for k in present])
        self.ax_.spines[:].set_visible(False)
        self.figure_.colorbar(
            self.image_, ax=self.ax_, label="standard deviations from the mean", extend="both"
        )
        self.ax_.set_title(self._title(), loc="left", fontsize="medium")
        return self

    def _title(self) -> str:
        features = f"{self.n_selected} selected features"
        if len(self.names) < self.n_selected:
            features = f"the {len(self.names)} most important of {features}"
        samples = f"{self.n_samples} samples"
        if len(self.samples) < self.n_samples:
            samples = f"{len(self.samples)} of {samples}"
        return f"{features}, {samples}"


def _evenly(order: IntArray, limit: int) -> IntArray:
    """So many of them, evenly spaced."""
    if len(order) <= limit:
        return order
    return order[np.linspace(0, len(order) - 1, limit).round().astype(np.intp)]


def _standardised(X: DataMatrix, columns: IntArray) -> FloatArray:
    """The columns as rows, centred and scaled over all samples."""
    chosen = X[:, columns]
    values = np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen, dtype=float).T
    scale = values.std(axis=1, keepdims=True)
    return (values - values.mean(axis=1, keepdims=True)) / np.where(scale > 0, scale, 1.0)
