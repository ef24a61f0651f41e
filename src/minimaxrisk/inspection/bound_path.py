"""Certified bounds over radii or over iterations, with the number of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.inspection.canvas import (
    BLUE,
    ORANGE,
    add_legend,
    figure_and_axes,
    finish,
    leave_room_for_legend,
    plot_n_features,
)
from minimaxrisk.inspection.sources import check_attributes, check_fitted, last_step


@dataclass(eq=False, kw_only=True)
class BoundPathDisplay:
    """Certified bounds on R* over radii or iterations, and the number of features on an axis of its own.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Radii or iterations, ascending.
    x_label : str
        What they are.
    lower, upper : ndarray of shape (n_points,)
        Certified bounds.
    n_features : ndarray of shape (n_points,)
        Number of features.
    n_features_label : str
        What is counted: selected columns, or what a solver works on.

    Attributes
    ----------
    ax_ : Axes
        Where ``plot`` has drawn.
    figure_ : Figure
        The figure of ``ax_``.
    n_features_ax_ : Axes
        The axes with the scale on the right.
    upper_line_, lower_line_, n_features_line_ : Line2D
        The lines.

    See Also
    --------
    minimaxrisk.minimax_risk_path : Computes a path.
    """

    x: FloatArray
    x_label: str
    lower: FloatArray
    upper: FloatArray
    n_features: IntArray
    n_features_label: str

    @classmethod
    def from_result(cls, path: Any) -> BoundPathDisplay:
        """Bounds over the radii of a path.

        Parameters
        ----------
        path : MinimaxRiskPath
            What ``minimax_risk_path`` returned, or anything with ``radii``, in any order,
            ``worst_case_error``, ``lower`` and ``n_features``.

        Returns
        -------
        BoundPathDisplay
            Ready to ``plot``.

        Raises
        ------
        TypeError
            If ``path`` lacks an attribute that is drawn.
        """
        check_attributes(
            "path", path, "a path of bounds over radii", ("radii", "worst_case_error", "lower", "n_features")
        )
        order = np.argsort(path.radii, kind="stable")
        return cls(
            x=np.asarray(path.radii, dtype=float)[order],
            x_label="radius s, in standard errors",
            lower=np.asarray(path.lower, dtype=float)[order],
            upper=np.asarray(path.worst_case_error, dtype=float)[order],
            n_features=np.asarray(path.n_features)[order],
            n_features_label="selected features",
        )

    @classmethod
    def from_estimator(cls, model: Any) -> BoundPathDisplay:
        """The best bounds that each iteration of a fit had proven.

        Parameters
        ----------
        model : MinimaxRiskClassifier, or Pipeline that ends with one
            Fitted.

        Returns
        -------
        BoundPathDisplay
            Ready to ``plot``.

        Raises
        ------
        TypeError
            If ``model`` lacks an attribute that is drawn.
        """
        model = last_step(model)
        check_fitted("model", model, "a fitted MinimaxRiskClassifier", ("history_", "worst_case_error_"))
        records = model.history_
        return cls(
            x=np.array([record["iteration"] for record in records], dtype=float),
            x_label="iteration",
            lower=np.array([record["lower"] for record in records]),
            upper=np.array([record["upper"] for record in records]),
            n_features=np.array([record["n_features"] for record in records]),
            n_features_label="components of Φ that the solver works on",
        )

    def plot(self, ax: Any = None) -> BoundPathDisplay:
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
        self._plot_bounds()
        self.n_features_ax_, self.n_features_line_ = plot_n_features(
            self.ax_, self.x, self.n_features, label=self.n_features_label
        )
        lines = [self.upper_line_, self.lower_line_, self.n_features_line_]
        add_legend(self.ax_, handles=lines, loc="upper center", ncols=len(lines))
        self.ax_.set_xlabel(self.x_label)
        finish(self.ax_, title=f"Certified bounds on R* by {self.x_label.split(',')[0]}", grid="y")
        return self

    def _plot_bounds(self) -> None:
        (self.upper_line_,) = self.ax_.plot(
            self.x, self.upper, color=BLUE, marker="o", markersize=4, label="upper bound"
        )
        # Without markers, so that both are seen where they meet.
        (self.lower_line_,) = self.ax_.plot(
            self.x, self.lower, color=ORANGE, linestyle="--", label="lower bound"
        )
        self.ax_.set_ylabel("worst-case error R*")
        leave_room_for_legend(self.ax_)
