"""How often each feature was selected, over subsamples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.guarantees.false_selections import at_most
from minimaxrisk.inspection import sources
from minimaxrisk.inspection.canvas import (
    BLACK,
    BLUE,
    PALE,
    figure_and_axes,
    finish,
    height_of_rows,
    label_rows,
)
from minimaxrisk.inspection.sources import check_fitted, check_limit


@dataclass(eq=False, kw_only=True)
class StabilityDisplay:
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
    ax_ : Axes
        Where ``plot`` has drawn.
    figure_ : Figure
        The figure of ``ax_``.
    bars_ : BarContainer
        A bar per feature.
    threshold_line_ : Line2D
        The threshold.
    """

    names: list[str]
    frequencies: FloatArray
    threshold: float
    n_features: int
    n_selected: int
    meinshausen_buhlmann: float
    shah_samworth: float

    @classmethod
    def from_estimator(
        cls, selector: Any, *, max_features: int = 30, feature_names: Any = None
    ) -> StabilityDisplay:
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

        Raises
        ------
        TypeError
            If ``selector`` lacks an attribute that is drawn.
        ValueError
            If ``feature_names`` are not as many as columns.
        """
        check_fitted(
            "selector",
            selector,
            "a MinimaxRiskSelector fitted with stability=True",
            ("selection_frequencies_", "n_features_in_", "false_selection_bounds_"),
        )
        frequencies = np.asarray(selector.selection_frequencies_, dtype=float)
        shown = np.argsort(-frequencies, kind="stable")[: check_limit("max_features", max_features)]
        shown = shown[frequencies[shown] > 0]
        return cls(
            names=sources.feature_names(selector, shown, feature_names),
            frequencies=frequencies[shown],
            threshold=float(selector.false_selection_bounds_.threshold),
            n_features=int(selector.n_features_in_),
            n_selected=int((frequencies >= selector.false_selection_bounds_.threshold).sum()),
            meinshausen_buhlmann=float(selector.false_selection_bounds_.meinshausen_buhlmann),
            shah_samworth=float(selector.false_selection_bounds_.shah_samworth),
        )

    def plot(self, ax: Any = None) -> StabilityDisplay:
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
        colours = np.where(self.frequencies >= self.threshold, BLUE, PALE)
        self.bars_ = self.ax_.barh(range(len(self.names)), self.frequencies, color=colours)
        self.threshold_line_ = self.ax_.axvline(self.threshold, color=BLACK, linestyle="--")
        label_rows(self.ax_, self.names)
        self.ax_.set_xlim(0.0, 1.0)
        self.ax_.set_xlabel(f"selection frequency (dashed: threshold {self.threshold:g})")
        finish(self.ax_, title=self._title(), grid="x")
        return self

    def _title(self) -> str:
        return (
            f"{self.n_selected} of {self.n_features} features reach the threshold\n"
            f"expected false selections: {at_most(self.meinshausen_buhlmann)} (Meinshausen–Bühlmann),\n"
            f"{at_most(self.shah_samworth)} (Shah–Samworth)"
        )
