"""The coefficients of the most important features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.inspection import sources
from minimaxrisk.inspection.canvas import (
    BLACK,
    add_legend,
    class_style,
    figure_and_axes,
    finish,
    height_of_rows,
    label_rows,
)
from minimaxrisk.inspection.sources import check_fitted, check_limit

# More classes than this, and their legend would cover bars.
MOST_INSIDE = 4


@dataclass(eq=False, kw_only=True)
class SelectedFeaturesDisplay:
    """Bars of standardised coefficients, whose total length is the importance of the feature.

    One row of coefficients gives one bar per feature, to the left for the first class and to the right for
    the second. A row per class gives pieces of a bar, to the right where larger values of the feature speak
    for the class and to the left where they speak against it.

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
    ax_ : Axes
        Where ``plot`` has drawn.
    figure_ : Figure
        The figure of ``ax_``.
    bars_ : list of BarContainer
        One per class, with a bar per feature.
    """

    names: list[str]
    coefficients: FloatArray
    classes: list[str]
    n_selected: int

    @classmethod
    def from_estimator(
        cls, model: Any, *, max_features: int = 20, feature_names: Any = None
    ) -> SelectedFeaturesDisplay:
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

        Raises
        ------
        TypeError
            If ``model`` lacks an attribute that is drawn.
        """
        classifier = sources.last_step(model)
        check_fitted(
            "model",
            classifier,
            "a fitted MinimaxRiskClassifier or L1SVMClassifier",
            ("coef_", "feature_importances_", "selected_features_", "classes_"),
        )
        selected = sources.by_importance(classifier)
        shown = selected[: check_limit("max_features", max_features)]
        coef = np.asarray(classifier.coef_)[:, shown]
        importance = np.asarray(classifier.feature_importances_)[shown]
        return cls(
            names=sources.feature_names(model, shown, feature_names),
            # The importance is the sum of the absolute coefficients, times the scale of the column.
            coefficients=coef * (importance / np.abs(coef).sum(axis=0)),
            classes=[str(label) for label in classifier.classes_],
            n_selected=len(selected),
        )

    def plot(self, ax: Any = None) -> SelectedFeaturesDisplay:
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
        self.figure_, self.ax_ = figure_and_axes(ax, height=height_of_rows(len(self.names)))
        pieces = self._pieces()
        self.bars_ = [
            self.ax_.barh(
                range(len(self.names)),
                piece,
                left=_inner_ends(pieces, position),
                label=label,
                **class_style(position),
            )
            for position, (piece, label) in enumerate(zip(pieces, self.classes, strict=True))
        ]
        self.ax_.use_sticky_edges = False  # or the longest bar would end in the frame
        self.ax_.axvline(0.0, color=BLACK, linewidth=0.8)
        label_rows(self.ax_, self.names)
        self.ax_.set_xlabel("standardised coefficient")
        if self.names:
            self._explain_colours()
        finish(self.ax_, title=self._title(), grid="x")
        return self

    def _pieces(self) -> FloatArray:
        """A row per class; a single row is split by its sign, which tells the class."""
        if len(self.coefficients) > 1:
            return self.coefficients
        return np.vstack([np.minimum(self.coefficients, 0.0), np.maximum(self.coefficients, 0.0)])

    def _explain_colours(self) -> None:
        title = "larger values speak for" if len(self.coefficients) == 1 else "right: for, left: against"
        if len(self.classes) > MOST_INSIDE:
            add_legend(self.ax_, title=title, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        else:
            add_legend(self.ax_, title=title)

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
