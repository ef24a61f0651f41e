"""The minimax risk as a function of the radius."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from minimaxrisk._utils import choices
from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk._utils.notices import warn
from minimaxrisk._utils.parallel import tell_progress
from minimaxrisk._utils.rounding import at_most
from minimaxrisk.engines.radius_path.radii import Envelope, SolvedRadius
from minimaxrisk.estimators.classifier import MinimaxRiskClassifier
from minimaxrisk.estimators.classifier_cv import check_radii, default_radii, solve_path
from minimaxrisk.estimators.fit_support import log_line, warn_about_work
from minimaxrisk.guarantees.fitted_problem import data_for_fit
from minimaxrisk.problem.pose import PosedBox
from minimaxrisk.problem.rule import LinearRule
from minimaxrisk.samples.validation import TrainingData

# A warning is issued if the bounds at a radius are further apart; usually the gap is a rounding error.
LARGEST_GAP = 1e-6


@dataclass(frozen=True)
class MinimaxRiskPath:
    """Models for many radii; all arrays have one entry per radius, in the given order.

    Printed, it has a line per radius.

    Attributes
    ----------
    radii : ndarray of shape (n_radii,)
        The given ones, or those of the default grid.
    worst_case_error, lower : ndarray of shape (n_radii,)
        Certified upper and lower bounds on R*: those of ``MinimaxRiskClassifier(radius=s)``.
    rules : list of LinearRule
        Coefficients of the selected columns, from which ``coefs`` is made.
    classes : ndarray of shape (n_classes,)
        The labels.
    breakpoints, breakpoint_errors : ndarray of shape (n_breakpoints,) or None
        With ``breakpoints=True`` the radii between the smallest and the largest one at which the slope of R*
        changes, ascending, and R* there (an upper bound; ``bounds`` gives both). R* is linear in between.
    n_passes : int
        How often all of X was read.
    """

    radii: FloatArray
    worst_case_error: FloatArray
    lower: FloatArray
    rules: list[LinearRule] = field(repr=False)
    classes: np.ndarray
    breakpoints: FloatArray | None
    breakpoint_errors: FloatArray | None
    n_passes: int
    _envelope: Envelope = field(repr=False)

    def __str__(self) -> str:
        return "\n".join(
            f"s = {s:g}: R* = {at_most(upper)}, {n} {'feature' if n == 1 else 'features'}"
            for s, upper, n in zip(self.radii, self.worst_case_error, self.n_features, strict=True)
        )

    @property
    def coefs(self) -> FloatArray:
        """Coefficients on all columns, shape (n_radii, 1 or n_classes, n_features)."""
        return np.stack([rule.full_coef for rule in self.rules])

    @property
    def intercepts(self) -> FloatArray:
        """Constants of the decision functions, shape (n_radii, 1 or n_classes)."""
        return np.stack([rule.intercept for rule in self.rules])

    @property
    def selected_features(self) -> list[IntArray]:
        """Indices of the columns with a non-zero coefficient, an array for each radius."""
        return [rule.columns for rule in self.rules]

    @property
    def n_features(self) -> IntArray:
        """Numbers of columns with a non-zero coefficient."""
        return np.array([len(rule.columns) for rule in self.rules])

    def bounds(self, radius: Any) -> tuple[Any, Any]:
        """Certified bounds on R* at any radius between the smallest and the largest one.

        R* is concave in the radius: the coefficients of one radius give a straight line above R*, and between
        two radii R* is above the chord of its lower bounds.

        Parameters
        ----------
        radius : float or array-like
            One radius or several.

        Returns
        -------
        lower : float or ndarray
            Lower bounds, of the shape of ``radius``.
        upper : float or ndarray
            Upper bounds.
        """
        asked = np.asarray(radius, dtype=np.float64)
        smallest, largest = self.radii.min(), self.radii.max()
        outside = asked[~((asked >= smallest) & (asked <= largest))]
        if outside.size:
            raise ValueError(
                f"radius must lie between the smallest and the largest radius of the path, {smallest:g} and "
                f"{largest:g}, got {outside[0]:g}; compute a path that reaches further."
            )
        lower, upper = (found.reshape(asked.shape) for found in self._envelope.bounds(asked.ravel()))
        return (lower, upper) if asked.ndim else (float(lower), float(upper))


def minimax_risk_path(
    X: Any,
    y: Any,
    radii: choices.Numbers | None = None,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    coding: choices.Coding = "auto",
    marginal: choices.Marginal = "free",
    standardize: bool = True,
    fit_intercept: bool = True,
    copy: bool | choices.Auto = "auto",
    class_weight: choices.ClassWeight = None,
    moderation: float = 1.0,
    breakpoints: bool = False,
    verbose: int = 0,
) -> MinimaxRiskPath:
    """Minimax risk classifiers for many radii, and certified bounds for all radii between them.

    Each radius starts from the optimum of the smaller one before it. With two classes and few samples the
    optimum is followed from the largest radius to the smallest, in a fraction of the time of separate fits.

    Parameters
    ----------
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
        Training instances.
    y : array-like of shape (n_samples,)
        Their labels.
    radii : array-like of shape (n_radii,) or None, default=None
        Factors s of the confidence radii, positive, in any order. ``None`` takes 20, evenly spaced by ratio,
        from a hundredth of the largest one up to that. There R* is 1 - 1/K, and nothing is learned.
    sample_weight, groups : array-like of shape (n_samples,) or None, default=None
        Weights, and samples that are not independent of each other, as for ``fit`` of the classifier.
    coding : {"auto", "signed", "one-hot"}, default="auto"
        How labels enter the feature map, as for ``MinimaxRiskClassifier``.
    marginal : {"free", "empirical"}, default="free"
        Whether the adversary may change the instances, as for ``MinimaxRiskClassifier``.
    standardize, fit_intercept : bool, default=True
        Whether columns are centred and scaled to unit variance inside, and a column of ones is added.
    copy : {"auto", True, False}, default="auto"
        Whether a float64 copy of a dense X is made, as for ``MinimaxRiskClassifier``.
    class_weight : dict, "balanced" or None, default=None
        Weights per class, as for ``MinimaxRiskClassifier``.
    moderation : float, default=1.0
        How standard errors of single classes are moderated, as for ``MinimaxRiskClassifier``.
    breakpoints : bool, default=False
        Whether to find all radii at which the slope of R* changes; there can be thousands. R* is then known
        at every radius in between, except for radii so small that intervals have their smallest width, 1e-9.
    verbose : int, default=0
        If positive, one line per radius goes to the logger ``"minimaxrisk"``, or to standard error where
        logging is not set up.

    Returns
    -------
    MinimaxRiskPath
        Bounds, rules and selected columns for every radius.

    See Also
    --------
    MinimaxRiskClassifierCV : Chooses one of the radii.
    minimaxrisk.inspection.BoundPathDisplay : Draws the path.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import minimax_risk_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = minimax_risk_path(X, y, [0.5, 1.0, 2.0])
    >>> path.worst_case_error.round(4).tolist()
    [0.2673, 0.2822, 0.3041]
    >>> path.n_features.tolist()
    [21, 14, 12]
    """
    radii = None if radii is None else check_radii(radii)
    # Holds the parameters, and the names of the columns for validation.
    model = MinimaxRiskClassifier(
        coding=coding,
        marginal=marginal,
        standardize=standardize,
        fit_intercept=fit_intercept,
        copy=copy,
        class_weight=class_weight,
        moderation=moderation,
    )
    model._validate_params()
    data = data_for_fit(model, model, X, y, sample_weight=sample_weight, groups=groups)
    warn_about_work(data, model.coding, model.copy)
    with suitable_threads(len(data.labels)):
        return path_of(model, data, radii, breakpoints=breakpoints, verbose=verbose)


def path_of(
    model: MinimaxRiskClassifier,
    data: TrainingData,
    radii: FloatArray | None,
    *,
    posed: PosedBox | None = None,
    breakpoints: bool = False,
    verbose: int = 0,
) -> MinimaxRiskPath:
    """The path of a classifier with these parameters, on features ``posed`` before if they are given."""
    if radii is None:
        radii = default_radii(model, data)
    ascending, place = np.unique(radii, return_inverse=True)
    n_solved = 0

    def report(solved: SolvedRadius) -> None:
        nonlocal n_solved
        n_solved += 1
        tell_progress(min(n_solved, len(ascending)), len(ascending))
        if verbose:
            what = "radius %g: %.6f <= R* <= %.6f, %d components of the feature map"
            log_line(what, solved.radius, solved.lower, solved.upper, len(solved.stage.components))

    path = solve_path(model, data, ascending, posed=posed, everywhere=breakpoints, report=report)
    by_radius = {one.radius: one for one in path.solved}
    asked = [by_radius[s] for s in ascending]
    gap = max(one.gap for one in asked)
    if gap > LARGEST_GAP:
        warn(f"the bounds on R* are up to {gap:.2g} apart; they are valid.", ConvergenceWarning)
    kinks, errors = path.envelope.breakpoints() if breakpoints else (None, None)
    rule_of = [path.rule(one) for one in asked]
    return MinimaxRiskPath(
        radii=radii,
        worst_case_error=np.array([one.upper for one in asked])[place],
        lower=np.array([one.lower for one in asked])[place],
        rules=[rule_of[i] for i in place],
        classes=data.classes,
        breakpoints=kinks,
        breakpoint_errors=errors,
        n_passes=1 + path.problem.features.n_passes,  # the first one scales and takes the moments
        _envelope=path.envelope,
    )
