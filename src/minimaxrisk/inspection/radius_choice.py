"""The loss on left-out samples over the radius, and the radius that was chosen by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk.inspection.canvas import (
    BLACK,
    BLUE,
    ORANGE,
    add_legend,
    figure_and_axes,
    finish,
    logarithmic,
    plot_n_features,
)
from minimaxrisk.inspection.sources import check_fitted


@dataclass(eq=False, kw_only=True)
class RadiusChoiceDisplay:
    """Mean loss over the radius with a band of one standard error, and the number of features.

    Parameters
    ----------
    radii : ndarray of shape (n_radii,)
        The grid, ascending.
    mean_loss, standard_error : ndarray of shape (n_radii,)
        Mean of the folds and its standard error; NaN, and no band, where there is one fold only.
    n_features : ndarray of shape (n_radii,)
        Mean number of selected columns.
    radius : float
        The chosen one.
    loss_label : str
        What the loss is.

    Attributes
    ----------
    ax_ : Axes
        Where ``plot`` has drawn.
    figure_ : Figure
        The figure of ``ax_``.
    n_features_ax_ : Axes
        The axes with the scale on the right.
    loss_line_, n_features_line_, radius_line_, limit_line_ : Line2D
        Mean loss, number of features, the chosen radius, and the smallest mean loss plus its standard error,
        up to which the rule ``"one-se"`` goes.
    band_ : PolyCollection
        One standard error to either side of the mean loss.
    """

    radii: FloatArray
    mean_loss: FloatArray
    standard_error: FloatArray
    n_features: FloatArray
    radius: float
    loss_label: str

    @classmethod
    def from_estimator(cls, model: Any) -> RadiusChoiceDisplay:
        """From a classifier that has chosen its radius by cross-validation.

        Parameters
        ----------
        model : MinimaxRiskClassifierCV
            Fitted with ``criterion="cross-validation"``.

        Returns
        -------
        RadiusChoiceDisplay
            Ready to ``plot``.

        Raises
        ------
        TypeError
            If ``model`` lacks an attribute that is drawn.
        """
        check_fitted(
            "model",
            model,
            "a MinimaxRiskClassifierCV fitted with criterion='cross-validation'",
            ("cv_results_", "radius_"),
        )
        results = model.cv_results_
        if "mean_loss" not in results:
            raise TypeError(
                "model must be a MinimaxRiskClassifierCV fitted with criterion='cross-validation', got "
                f"{type(model).__name__}, whose cv_results_ have no mean_loss."
            )
        plain = getattr(model, "scoring", None) is None
        return cls(
            radii=np.asarray(results["radii"], dtype=float),
            mean_loss=np.asarray(results["mean_loss"], dtype=float),
            standard_error=np.asarray(results["standard_error"], dtype=float),
            n_features=np.asarray(results["n_features"], dtype=float).mean(axis=0),
            radius=float(model.radius_),
            loss_label="error on left-out samples" if plain else "minus the score on left-out samples",
        )

    def plot(self, ax: Any = None) -> RadiusChoiceDisplay:
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
        self.figure_, self.ax_ = figure_and_axes(ax)
        logarithmic(self.ax_)
        self._plot_loss()
        self.n_features_ax_, self.n_features_line_ = plot_n_features(
            self.ax_, self.radii, self.n_features, label="selected features, mean of the folds"
        )
        self.radius_line_ = self.ax_.axvline(
            self.radius, color=ORANGE, linewidth=2.0, label=f"chosen: s = {self.radius:.3g}"
        )
        handles = [self.loss_line_, self.limit_line_, self.n_features_line_, self.radius_line_]
        add_legend(self.ax_, handles=handles, loc="upper center", ncols=2)
        self.ax_.set_xlabel("radius s, in standard errors")
        title = f"{self.loss_label[0].upper()}{self.loss_label[1:]} by radius, ± one standard error"
        finish(self.ax_, title=title, grid="y")
        return self

    def _plot_loss(self) -> None:
        (self.loss_line_,) = self.ax_.plot(
            self.radii, self.mean_loss, color=BLUE, marker="o", markersize=4, label="mean of the folds"
        )
        self.band_ = self.ax_.fill_between(
            self.radii,
            self.mean_loss - self.standard_error,
            self.mean_loss + self.standard_error,
            color=BLUE,
            alpha=0.2,
            linewidth=0.0,
        )
        best = int(np.flatnonzero(self.mean_loss == self.mean_loss.min())[-1])
        self.limit_line_ = self.ax_.axhline(
            self.mean_loss[best] + self.standard_error[best],
            color=BLACK,
            linestyle="--",
            linewidth=1.0,
            label="smallest + its standard error",
        )
        self.ax_.set_ylabel(self.loss_label)
        bottom, top = self.ax_.get_ylim()
        # Room for the legend above; an error begins at zero.
        self.ax_.set_ylim(bottom if self.mean_loss.min() < 0.0 else 0.0, top + 0.3 * (top - bottom))
