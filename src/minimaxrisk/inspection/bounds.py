"""Certified bounds, and the distribution that attains the worst case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d

from minimaxrisk._utils.arguments import check_positive_integer
from minimaxrisk._utils.arrays import BoolArray, FloatArray, IntArray
from minimaxrisk.guarantees.certified import HISTORY, PROOF, fitted_for
from minimaxrisk.inspection import canvas
from minimaxrisk.inspection.canvas import Display
from minimaxrisk.inspection.chart import ALARM, MAIN, PALE, SECOND, SOFT, Axis, Chart, Mark, bars_of_rows

ITERATION = "iteration"


@dataclass(eq=False, kw_only=True)
class BoundPathDisplay(Display):
    """Certified bounds on R* over radii or iterations, and the number of features on an axis of its own.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Radii or iterations, ascending.
    x_label : str
        What they are.
    lower, upper, n_features : ndarray of shape (n_points,)
        Certified bounds, and the number of features.
    n_features_label : str
        What is counted: selected columns, or what a solver works on.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where ``plot`` has drawn.
    artists_ : dict
        The lines ``"upper bound"``, ``"lower bound"`` and ``"features"``.

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
        model : estimator
            A fitted classifier of this library, alone, at the end of a pipeline, or in a search.

        Returns
        -------
        BoundPathDisplay
            Ready to ``plot``.
        """
        records = fitted_for(model, cls.__name__, HISTORY)[0]._final().history_
        return cls(
            x=np.array([record["iteration"] for record in records], dtype=float),
            x_label=ITERATION,
            lower=np.array([record["lower"] for record in records]),
            upper=np.array([record["upper"] for record in records]),
            n_features=np.array([record["n_features"] for record in records]),
            n_features_label="components of Φ that the solver works on",
        )

    def _chart(self) -> Chart:
        features = Mark("line", "features", SOFT, self.x, self.n_features, label="features (right)")
        return Chart(
            x=Axis(self.x_label, is_count=self.x_label == ITERATION),
            y=Axis("worst-case error R*", starts_at_zero=True),
            marks=[
                Mark("line", "upper bound", MAIN, self.x, self.upper, label="upper bound"),
                # Without markers, so that both are seen where they meet.
                Mark("line", "lower bound", SECOND, self.x, self.lower, is_dashed=True, label="lower bound"),
            ],
            beside=(Axis(self.n_features_label, is_count=True, starts_at_zero=True), features),
            title=f"Certified bounds on R* by {self.x_label.split(',')[0]}",
        )


# Masses that differ by less than this differ by the rounding of the solver.
TIE = 1e-9


@dataclass(eq=False, kw_only=True)
class WorstCaseDistributionDisplay(Display):
    """Bars in two parts: per sample the mass of the worst-case distribution on other labels and on its own.

    A sample is ambiguous if it has no less mass on other labels than on its own. With the signed coding and a
    free marginal the worst case fixes only the difference of the two masses; the rest is spread evenly.

    Parameters
    ----------
    samples : ndarray of int
        Positions of the drawn samples in the training data. Ambiguous ones come first, then those with more
        mass on other labels.
    own_mass, other_mass : ndarray of shape (n_shown,)
        Mass on a sample's own label, and on all others.
    n_samples, n_ambiguous : int
        Number of labelled samples, and of ambiguous ones among them, drawn or not.
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
    artists_ : dict
        The bars ``"other"`` and ``"own"``, which begin where the others end.
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
    def from_estimator(cls, model: Any, y: Any, *, max_samples: int = 40, sample_names: Any = None) -> Self:
        """From a fitted classifier and the labels that it was fitted on.

        Parameters
        ----------
        model : estimator
            A fitted classifier of this library, alone, at the end of a pipeline, or in a search.
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
        classifier = fitted_for(model, cls.__name__, PROOF)[0]._final()
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

    def _chart(self) -> Chart:
        names = [f"row {sample}" for sample in self.samples] if self.names is None else self.names
        places, middle, end = np.arange(len(names)), self.other_mass, self.other_mass + self.own_mass
        return Chart(
            x=Axis("weight in the worst-case distribution", starts_at_zero=True),
            y=Axis("sample", rows=names),
            marks=[
                bars_of_rows("other", ALARM, places, 0.0, middle, label="weight on other labels"),
                bars_of_rows("own", PALE, places, middle, end, label="weight on its own label"),
            ],
            title=self._title(),
        )

    def _title(self) -> str:
        lines = [
            f"weight on labels other than the sample's own: {self.total_other_mass:.1%}",
            f"no less than on its own: {self.n_ambiguous} of {self.n_samples} samples",
        ]
        if self.n_unlabeled:
            without = f"{self.n_unlabeled} rows without a label"
            lines.append(f"left out: {without}, with a weight of {self.unlabeled_mass:.1%}")
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
