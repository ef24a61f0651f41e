"""Where the adversary puts its mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.inspection.canvas import (
    PALE,
    VERMILION,
    add_legend,
    figure_and_axes,
    finish,
    leave_room_for_legend,
)
from minimaxrisk.inspection.sources import check_fitted, check_limit, check_number_of_names, last_step

# Masses that differ by less than this differ by the rounding of the solver.
TIE = 1e-9
# More samples than this, and their numbers would touch.
MOST_NUMBERS = 60


@dataclass(eq=False, kw_only=True)
class WorstCaseDistributionDisplay:
    """Stacked bars: per sample the mass of the worst-case distribution on other labels and on its own.

    A sample with no less mass on other labels than on its own is one whose label the adversary can make a
    toss of a coin. With the signed coding and a free marginal the worst case fixes only the difference of the
    two masses; what is left over is spread evenly, so that many samples share the same mass on the other
    label.

    Parameters
    ----------
    samples : ndarray of int
        Positions of the drawn samples in the training data: those with no less mass on other labels than on
        their own come first, and among them, as among the rest, the most mass on other labels.
    own_mass, other_mass : ndarray of shape (n_shown,)
        Mass on a sample's own label, and on all others.
    n_samples : int
        Number of labelled samples, drawn or not.
    n_ambiguous : int
        How many of them have mass on other labels, and no less than on their own.
    total_other_mass : float
        Mass on other labels, over all labelled samples.
    n_unlabeled : int
        Number of instances without a label, which are not drawn.
    unlabeled_mass : float
        Their mass.
    names : list of str or None, default=None
        Names of the drawn samples, where there are any.

    Attributes
    ----------
    ax_ : Axes
        Where ``plot`` has drawn.
    figure_ : Figure
        The figure of ``ax_``.
    other_bars_, own_bars_ : BarContainer
        The lower and the upper part of the bars.
    """

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
    def from_estimator(
        cls, model: Any, y: Any, *, max_samples: int = 40, sample_names: Any = None
    ) -> WorstCaseDistributionDisplay:
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

        Raises
        ------
        TypeError
            If ``model`` lacks an attribute that is drawn.
        ValueError
            If ``y`` does not hold the labels that the model was fitted on.
        """
        model = last_step(model)
        check_fitted(
            "model", model, "a fitted MinimaxRiskClassifier", ("worst_case_distribution_", "classes_")
        )
        distribution = np.asarray(model.worst_case_distribution_)
        is_own = _own_labels(y, model.classes_, distribution)
        labelled, unlabeled = distribution[: len(is_own)], distribution[len(is_own) :]
        own, other = np.where(is_own, labelled, 0.0).sum(axis=1), np.where(is_own, 0.0, labelled).sum(axis=1)
        is_ambiguous = (other > TIE) & (other >= own - TIE)
        order = _in_doubt_first(own, other, is_ambiguous)[: check_limit("max_samples", max_samples)]
        if sample_names is not None:
            check_number_of_names("sample_names", sample_names, len(is_own))
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

    def plot(self, ax: Any = None) -> WorstCaseDistributionDisplay:
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
        self.figure_, self.ax_ = figure_and_axes(ax, width=8.0)
        places = range(len(self.samples))
        self.other_bars_ = self.ax_.bar(places, self.other_mass, color=VERMILION, label="on other labels")
        self.own_bars_ = self.ax_.bar(
            places, self.own_mass, bottom=self.other_mass, color=PALE, label="on its own label"
        )
        if len(self.samples) <= MOST_NUMBERS:
            labels = [str(sample) for sample in self.samples] if self.names is None else self.names
            self.ax_.set_xticks(places, labels=labels, rotation=90, fontsize="small")
        self.ax_.set_xlim(-0.8, len(self.samples) - 0.2)
        self.ax_.set_xlabel("row of the training data" if self.names is None else "sample")
        self.ax_.set_ylabel("mass in the worst-case distribution")
        leave_room_for_legend(self.ax_)
        add_legend(self.ax_, loc="upper right", ncols=2)
        finish(self.ax_, title=self._title(), grid="y")
        return self

    def _title(self) -> str:
        lines = [
            f"mass on labels other than the sample's own: {self.total_other_mass:.1%}",
            f"no less than on its own: {self.n_ambiguous} of {self.n_samples} samples",
        ]
        if self.n_unlabeled:
            without = f"{self.n_unlabeled} rows without a label"
            lines.append(f"left out: {without}, with a mass of {self.unlabeled_mass:.1%}")
        return "\n".join(lines)


def _in_doubt_first(own: FloatArray, other: FloatArray, is_ambiguous: BoolArray) -> IntArray:
    """Samples with mass on other labels: the ambiguous, the most on others, the least on their own first."""
    order = np.lexsort((np.rint(own / TIE), -np.rint(other / TIE), ~is_ambiguous))
    return order[other[order] > TIE]


def _own_labels(y: Any, classes: np.ndarray, distribution: FloatArray) -> BoolArray:
    """For each sample with a label and each class, whether it is the sample's own."""
    labels = column_or_1d(y)
    if not 0 < len(labels) <= len(distribution):
        raise ValueError(
            "y must hold the labels that the model was fitted on, one for each of the first rows of its "
            f"worst_case_distribution_, which has {len(distribution)} rows; got {len(labels)} labels."
        )
    is_own = labels[:, None] == classes
    # Samples of weight zero have no mass, and may have labels that the model has not heard of.
    strange = ~is_own.any(axis=1) & (distribution[: len(labels)].sum(axis=1) > 0)
    if strange.any():
        first = int(np.flatnonzero(strange)[0])
        raise ValueError(
            f"y must hold the labels that the model was fitted on, its classes_ are {classes.tolist()}; got "
            f"{labels.tolist()[first]!r} at position {first}."
        )
    return is_own
