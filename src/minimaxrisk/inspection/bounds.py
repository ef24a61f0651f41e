"""Certified bounds, the choice of a radius, and the distribution that attains the worst case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import column_or_1d

from minimaxrisk._utils.arguments import check_positive_integer
from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.inspection import canvas
from minimaxrisk.inspection.canvas import BLACK, BLUE, ORANGE, PALE, VERMILION, Display


@dataclass(eq=False, kw_only=True)
class BoundPathDisplay(Display):
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
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
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
    def from_result(cls, path: Any) -> Self:
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
        """
        drawn = ("radii", "worst_case_error", "lower", "n_features")
        canvas.check_attributes("path", path, "a path of bounds over radii", drawn)
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
    def from_estimator(cls, model: Any) -> Self:
        """The best bounds that each iteration of a fit had proven.

        Parameters
        ----------
        model : MinimaxRiskClassifier, or Pipeline that ends with one
            Fitted.

        Returns
        -------
        BoundPathDisplay
            Ready to ``plot``.
        """
        records = canvas.fitted_classifier(model, ("history_", "worst_case_error_")).history_
        return cls(
            x=np.array([record["iteration"] for record in records], dtype=float),
            x_label="iteration",
            lower=np.array([record["lower"] for record in records]),
            upper=np.array([record["upper"] for record in records]),
            n_features=np.array([record["n_features"] for record in records]),
            n_features_label="components of Φ that the solver works on",
        )

    def _title(self) -> str:
        return f"Certified bounds on R* by {self.x_label.split(',')[0]}"

    def _draw(self, ax: Any) -> None:
        (self.upper_line_,) = ax.plot(
            self.x, self.upper, color=BLUE, marker="o", markersize=4, label="upper bound"
        )
        # Without markers, so that both are seen where they meet.
        (self.lower_line_,) = ax.plot(self.x, self.lower, color=ORANGE, linestyle="--", label="lower bound")
        ax.set_ylabel("worst-case error R*")
        canvas.leave_room_for_legend(ax)
        self.n_features_ax_, self.n_features_line_ = canvas.plot_n_features(
            ax, self.x, self.n_features, label=self.n_features_label
        )
        lines = [self.upper_line_, self.lower_line_, self.n_features_line_]
        canvas.add_legend(ax, handles=lines, loc="upper center", ncols=len(lines))
        ax.set_xlabel(self.x_label)


@dataclass(eq=False, kw_only=True)
class RadiusChoiceDisplay(Display):
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
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
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
    def from_estimator(cls, model: Any) -> Self:
        """From a classifier that has chosen its radius by cross-validation.

        Parameters
        ----------
        model : MinimaxRiskClassifierCV
            Fitted with ``criterion="cross-validation"``.

        Returns
        -------
        RadiusChoiceDisplay
            Ready to ``plot``.
        """
        expected = "a MinimaxRiskClassifierCV fitted with criterion='cross-validation'"
        canvas.check_fitted("model", model, expected, ("cv_results_", "radius_"))
        results = model.cv_results_
        if "mean_loss" not in results:
            raise TypeError(
                f"model must be {expected}, got {type(model).__name__}, whose cv_results_ have no mean_loss."
            )
        return cls(
            radii=np.asarray(results["radii"], dtype=float),
            mean_loss=np.asarray(results["mean_loss"], dtype=float),
            standard_error=np.asarray(results["standard_error"], dtype=float),
            n_features=np.asarray(results["n_features"], dtype=float).mean(axis=0),
            radius=float(model.radius_),
            loss_label=canvas.loss_label_of(model),
        )

    def _title(self) -> str:
        return f"{self.loss_label[0].upper()}{self.loss_label[1:]} by radius, ± one standard error"

    def _draw(self, ax: Any) -> None:
        # Numbers at 1, 2 and 5 of each decade: matplotlib writes powers of ten at all ticks of an axis that
        # spans about a decade, and they touch.
        ax.set_xscale("log")
        ax.xaxis.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")
        self._draw_loss(ax)
        self.n_features_ax_, self.n_features_line_ = canvas.plot_n_features(
            ax, self.radii, self.n_features, label="selected features, mean of the folds"
        )
        self.radius_line_ = ax.axvline(
            self.radius, color=ORANGE, linewidth=2.0, label=f"chosen: s = {self.radius:.3g}"
        )
        handles = [self.loss_line_, self.limit_line_, self.n_features_line_, self.radius_line_]
        canvas.add_legend(ax, handles=handles, loc="upper center", ncols=2)
        ax.set_xlabel("radius s, in standard errors")

    def _draw_loss(self, ax: Any) -> None:
        (self.loss_line_,) = ax.plot(
            self.radii, self.mean_loss, color=BLUE, marker="o", markersize=4, label="mean of the folds"
        )
        low, high = self.mean_loss - self.standard_error, self.mean_loss + self.standard_error
        self.band_ = ax.fill_between(self.radii, low, high, color=BLUE, alpha=0.2, linewidth=0.0)
        best = int(np.flatnonzero(self.mean_loss == self.mean_loss.min())[-1])
        self.limit_line_ = ax.axhline(
            high[best], color=BLACK, linestyle="--", linewidth=1.0, label="smallest + its standard error"
        )
        ax.set_ylabel(self.loss_label)
        canvas.leave_room_above(ax, self.mean_loss)


# Masses that differ by less than this differ by the rounding of the solver.
TIE = 1e-9
# More samples than this, and their numbers would touch.
MOST_NUMBERS = 60


@dataclass(eq=False, kw_only=True)
class WorstCaseDistributionDisplay(Display):
    """Stacked bars: per sample the mass of the worst-case distribution on other labels and on its own.

    A sample is ambiguous if it has no less mass on other labels than on its own. With the signed coding and a
    free marginal the worst case fixes only the difference of the two masses; the rest is spread evenly.

    Parameters
    ----------
    samples : ndarray of int
        Positions of the drawn samples in the training data. Ambiguous ones come first, then those with more
        mass on other labels.
    own_mass, other_mass : ndarray of shape (n_shown,)
        Mass on a sample's own label, and on all others.
    n_samples : int
        Number of labelled samples, drawn or not.
    n_ambiguous : int
        How many of them are ambiguous.
    total_other_mass : float
        Mass on other labels, over all labelled samples.
    n_unlabeled, unlabeled_mass : int, float
        Number and mass of the instances without a label, which are not drawn.
    names : list of str or None, default=None
        Names of the drawn samples, where there are any.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    other_bars_, own_bars_ : BarContainer
        The lower and the upper part of the bars.
    """

    _size: ClassVar[tuple[float, float]] = (8.0, 4.4)

    samples: IntArray
    own_mass: FloatArray
    other_mass: FloatArray
    n_samples: int
    n_ambiguous: int
    total_other_mass: float
    n_unlabeled: int
    unlabeled_mass: float
    names: list[str] | None = None

    @classmethod
    def from_estimator(cls, model: Any, y: Any, *, max_samples: int = 40, sample_names: Any = None) -> Self:
        """From a fitted classifier and the labels that it was fitted on.

        Parameters
        ----------
        model : MinimaxRiskClassifier, or Pipeline that ends with one
            Fitted.
        y : array-like of shape (n_samples,)
            The labels. Rows of ``worst_case_distribution_`` beyond their end are instances without a label.
        max_samples : int, default=40
            How many samples to draw at most.
        sample_names : sequence of str or None, default=None
            Names of all samples; None takes their numbers.

        Returns
        -------
        WorstCaseDistributionDisplay
            Ready to ``plot``.
        """
        check_positive_integer("max_samples", max_samples)
        classifier = canvas.fitted_classifier(model, ("worst_case_distribution_", "classes_"))
        distribution = np.asarray(classifier.worst_case_distribution_)
        is_own = _own_labels(y, classifier.classes_, distribution)
        labelled, unlabeled = distribution[: len(is_own)], distribution[len(is_own) :]
        own, other = np.where(is_own, labelled, 0.0).sum(axis=1), np.where(is_own, 0.0, labelled).sum(axis=1)
        is_ambiguous = (other > TIE) & (other >= own - TIE)
        # Rounding of the solver must not decide the order.
        order = np.lexsort((np.rint(own / TIE), -np.rint(other / TIE), ~is_ambiguous))
        order = order[other[order] > TIE][:max_samples]
        if sample_names is not None:
            canvas.check_number_of_names("sample_names", sample_names, len(is_own))
        return cls(
            samples=order,
            own_mass=own[order],
            other_mass=other[order],
            n_samples=len(is_own),
            n_ambiguous=int(is_ambiguous.sum()),
            total_other_mass=float(other.sum()),
            n_unlabeled=len(unlabeled),
            unlabeled_mass=float(unlabeled.sum()),
            names=None if sample_names is None else [str(sample_names[i]) for i in order],
        )

    def _draw(self, ax: Any) -> None:
        places = range(len(self.samples))
        self.other_bars_ = ax.bar(places, self.other_mass, color=VERMILION, label="on other labels")
        self.own_bars_ = ax.bar(
            places, self.own_mass, bottom=self.other_mass, color=PALE, label="on its own label"
        )
        if len(self.samples) <= MOST_NUMBERS:
            labels = [str(sample) for sample in self.samples] if self.names is None else self.names
            ax.set_xticks(places, labels=labels, rotation=90, fontsize="small")
        ax.set_xlim(-0.8, len(self.samples) - 0.2)
        ax.set_xlabel("row of the training data" if self.names is None else "sample")
        ax.set_ylabel("mass in the worst-case distribution")
        canvas.leave_room_for_legend(ax)
        canvas.add_legend(ax, loc="upper right", ncols=2)

    def _title(self) -> str:
        lines = [
            f"mass on labels other than the sample's own: {self.total_other_mass:.1%}",
            f"no less than on its own: {self.n_ambiguous} of {self.n_samples} samples",
        ]
        if self.n_unlabeled:
            without = f"{self.n_unlabeled} rows without a label"
            lines.append(f"left out: {without}, with a mass of {self.unlabeled_mass:.1%}")
        return "\n".join(lines)


def _own_labels(y: Any, classes: np.ndarray, distribution: FloatArray) -> BoolArray:
    """For each sample with a label and each class, whether it is the sample's own."""
    labels = column_or_1d(y)
    if not 0 < len(labels) <= len(distribution):
        raise ValueError(
            "y must hold the labels that the model was fitted on, one for each of the first rows of its "
            f"worst_case_distribution_, which has {len(distribution)} rows; got {len(labels)} labels."
        )
    is_own = labels[:, None] == classes
    # Samples of weight zero have no mass, and may have labels that the model does not know.
    strange = ~is_own.any(axis=1) & (distribution[: len(labels)].sum(axis=1) > 0)
    if strange.any():
        first = int(np.flatnonzero(strange)[0])
        raise ValueError(
            f"y must hold the labels that the model was fitted on, its classes_ are {classes.tolist()}; got "
            f"{labels.tolist()[first]!r} at position {first}."
        )
    return is_own
