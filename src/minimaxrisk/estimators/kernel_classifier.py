"""A minimax risk classifier with a ball of means in place of a box, by a kernel or on all columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from minimaxrisk._utils import choices
from minimaxrisk._utils.arguments import parameters_by_keyword
from minimaxrisk._utils.notices import warn
from minimaxrisk._utils.sklearn_private import Interval, fit_context
from minimaxrisk.engines.ball import solve_ball
from minimaxrisk.engines.solution import (
    SMALLEST_GAP,
    Bounds,
    IterationRecord,
    Monitor,
    Solution,
    StoppingRule,
)
from minimaxrisk.estimators.fit_support import warn_about_products
from minimaxrisk.estimators.skeleton import CertifiedClassifier, refuse_container
from minimaxrisk.guarantees.certified import HISTORY, LIBRARY_CLASSIFIER, OTHER_LABELS, PROOF, Claim
from minimaxrisk.guarantees.claims import claims_of_ball
from minimaxrisk.problem.ball import Ball, PosedBall
from minimaxrisk.problem.rule import KernelRule, LinearRule
from minimaxrisk.problem.sets import BALL
from minimaxrisk.samples.validation import TrainingData

# A gap that needs no warning, whatever was asked for: rounding may not allow a smaller one.
ACCEPTED_GAP = 1e-6


@parameters_by_keyword
class MinimaxRiskKernelClassifier(CertifiedClassifier):
    r"""Minimax risk classifier that uses all columns, or a kernel.

    It suits data in which many columns carry a little each. The worst case is over all distributions whose
    mean feature vector lies in a ball around that of the sample. ``MinimaxRiskClassifier`` has an interval
    for each column instead, and so selects few. ::

        model = make_pipeline(ClippedScaler(), MinimaxRiskKernelClassifier()).fit(X, y)
        model.predict(X_new), model[-1].worst_case_error_

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "sigmoid", ..., "precomputed"} or callable, default="linear"
        A kernel of ``sklearn.metrics.pairwise``. As for ``sklearn.svm.SVC``, a callable takes two arrays of
        instances and returns the matrix of their products; with ``"precomputed"`` X is that matrix.
    gamma : {"scale", "auto"} or float, default="scale"
        Parameter of most kernels: ``"auto"`` is 1 / n_features, ``"scale"`` that divided by the mean variance
        of the columns, which does not change when columns are shifted.
    degree : float, default=3
        Parameter of ``"poly"``.
    coef0 : float, default=0.0
        Parameter of ``"poly"`` and ``"sigmoid"``.
    radius : float or "bootstrap", default=0.3
        The radius of the ball: a number of standard errors of the mean feature vector, with which R* is not
        a bound on the error, or so large that the ball contains the true mean with probability
        ``confidence``.
    confidence : float, default=0.95
        For ``radius="bootstrap"``.
    n_bootstrap : int, default=1000
        Draws for ``radius="bootstrap"``.
    marginal : {"free", "empirical"}, default="free"
        Whether the adversary may change how often each instance occurs, or only labels.
    coding : {"auto", "signed", "one-hot"}, default="auto"
        How labels enter the feature map, as for ``MinimaxRiskClassifier``.
    fit_intercept : bool, default=True
        Whether a constant is added to the features.
    gap_tol : float, default=1e-6
        The certified gap at which the solver stops.
    class_weight : dict, "balanced" or None, default=None
        Weights per class, as for ``MinimaxRiskClassifier``.
    weight_kind : {"auto", "counts", "importance"}, default="auto"
        What weights mean, as for ``MinimaxRiskClassifier``.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.
    verbose : int, default=0
        If positive, a log line per iteration, as for ``MinimaxRiskClassifier``.
    callback : callable or None, default=None
        Called with each record of ``history_``; returning True ends the fit with the bounds that it has.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    worst_case_error_, worst_case_error_lower_ : float
        Certified bounds on R*, the smallest worst-case error of any rule.
    optimality_gap_ : float
        The difference of the two.
    worst_case_distribution_ : ndarray of shape (n_samples, n_classes)
        The distribution of the ball that proves the lower bound.
    dual_coef_ : ndarray of shape (1 or n_classes, n_instances)
        Coefficients of the distinct instances.
    X_fit_ : {ndarray, sparse matrix} of shape (n_instances, n_features) or None
        The distinct instances; None for the kernels ``"linear"`` and ``"precomputed"``.
    rows_ : ndarray of shape (n_instances,)
        For each of them the first row of X that holds it.
    coef_, intercept_ : ndarray of shape (1 or n_classes, n_features), (1 or n_classes,)
        For the kernel ``"linear"``.
    threshold_ : float
        Of the randomized rule; with ``marginal="empirical"`` the mean of those of the instances.
    radius_ : float
        The radius of the ball as a number of standard errors.
    ball_radius_ : float
        The radius in the units of the kernel's space.
    coverage_, radius_seed_ : float or None, int
        The probability that goes with ``radius="bootstrap"``, and the seed of its draws.
    coverage_remarks_ : tuple of str
        Where the sample visibly breaks what that probability assumes.
    coding_ : str
        The coding used.
    solver_, converged_, n_iter_ : str, bool, int
        The solver, whether it reached ``gap_tol``, and its steps.
    history_ : list of dict
        A record per step, as for ``MinimaxRiskClassifier``; all instances take part in each.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    See Also
    --------
    MinimaxRiskClassifier : Few columns, an interval for each.
    MinimaxRiskEnsembleClassifier : The average of such classifiers.

    Notes
    -----
    With :math:`\tau` the mean of the features :math:`\Phi(x, y)` and :math:`\rho` the radius,

    .. math:: R^* = \min_\mu 1 - \tau^\top \mu + \rho \|\mu\| + \varphi(\mu),

    a program in scalar products alone, so that kernels are exact. With two classes and known instances it is
    a support vector machine with a second hinge: each instance of margin m costs
    :math:`(1/2 - m)_+ + (-1/2 - m)_+`. Features are centred at the mean of the sample. Columns are not
    scaled: put ``ClippedScaler`` or ``StandardScaler`` before.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskKernelClassifier
    >>> from minimaxrisk.datasets import make_expression
    >>> study = make_expression(60, 200, effect=0.8, random_state=0)
    >>> model = MinimaxRiskKernelClassifier().fit(study.data, study.target)
    >>> model.worst_case_error_ - model.worst_case_error_lower_ <= 1e-6
    True
    """

    _set_kind = BALL
    _curved = "kernel='rbf' on scaled columns"
    _capabilities = frozenset({LIBRARY_CLASSIFIER, PROOF, OTHER_LABELS, HISTORY})
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [choices.one_of(choices.KernelName), callable],
        "gamma": [choices.one_of(choices.Gamma), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Real],
        "radius": [Interval(Real, 0, None, closed="neither"), choices.one_of(choices.RadiusOfBall)],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "n_bootstrap": [Interval(Integral, 1, None, closed="left")],
        "marginal": [choices.one_of(choices.Marginal)],
        "coding": [choices.one_of(choices.Coding)],
        "fit_intercept": ["boolean"],
        "gap_tol": [Interval(Real, 0, None, closed="left")],
        "class_weight": [dict, choices.one_of(choices.Balanced), None],
        "weight_kind": [choices.one_of(choices.WeightKind)],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        kernel: choices.Kernel = "linear",
        *,
        gamma: float | choices.Gamma = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        radius: float | choices.RadiusOfBall = 0.3,
        confidence: float = 0.95,
        n_bootstrap: int = 1000,
        marginal: choices.Marginal = "free",
        coding: choices.Coding = "auto",
        fit_intercept: bool = True,
        gap_tol: float = 1e-6,
        class_weight: choices.ClassWeight = None,
        weight_kind: choices.WeightKind = "auto",
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[[IterationRecord], Any] | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.radius = radius
        self.confidence = confidence
        self.n_bootstrap = n_bootstrap
        self.marginal = marginal
        self.coding = coding
        self.fit_intercept = fit_intercept
        self.gap_tol = gap_tol
        self.class_weight = class_weight
        self.weight_kind = weight_kind
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn the rule.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training instances, or their products with each other for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, as for ``MinimaxRiskClassifier``.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples that are not independent of each other, as for ``MinimaxRiskClassifier``.

        Returns
        -------
        self
            The fitted classifier.

        Warns
        -----
        CoverageWarning
            If the sample visibly breaks what ``radius="bootstrap"`` assumes.
        ConvergenceWarning
            If the solver stopped short of its tolerance; the bounds are valid nevertheless.
        LargeFitWarning
            If the matrices of products of samples do not fit into memory.
        UnderfitWarning
            If a class is never predicted on the training data, or the most common one alone would do as well.
        """
        return self._learn(X, y, sample_weight=sample_weight, groups=groups)

    def _check(self, data: TrainingData, checked: Any, parameters: Any) -> None:
        warn_about_products(data)

    def _problems_at_a_time(self, problem: Ball) -> int:
        return 1

    def _bounds(self, problems: Sequence[Ball], enough: StoppingRule) -> list[Bounds]:
        found = [solve_ball(problem, enough) for problem in problems]
        if any(each.interrupted for each in found):
            raise KeyboardInterrupt
        return [Bounds(each.lower, each.upper) for each in found]

    def _solved(self, posed: PosedBall, data: TrainingData, parameters: Any, monitor: Monitor) -> Solution:
        return solve_ball(posed.problem, StoppingRule(max(self.gap_tol, SMALLEST_GAP)), monitor)

    def _store(self, posed: PosedBall, data: TrainingData, solved: Solution, parameters: Any) -> None:
        problem, self._fitted_parameters = posed.problem, clone(self._without_callback())
        self.threshold_ = problem.threshold_of(solved.mu)
        # Adding 0.0 turns -0.0 into 0.0, which prints better.
        self.dual_coef_ = problem.orientation * solved.mu + 0.0
        self.rows_, self.ball_radius_ = posed.instances.rows, problem.radius
        self._store_bounds(posed, solved)
        self._store_set(posed, parameters)
        self._store_history(solved)
        self._products, self._space = posed.products, posed.space
        self.X_fit_ = None
        if self.kernel == "linear":
            self.coef_, self.intercept_ = posed.linear(self.dual_coef_)
        elif self.kernel != "precomputed":
            self.X_fit_ = posed.X

    def _warn(self, posed: PosedBall, data: TrainingData, solved: Solution) -> None:
        super()._warn(posed, data, solved)
        if self.optimality_gap_ > max(self.gap_tol, ACCEPTED_GAP) and not solved.stopped:
            warn(
                f"the solver stopped with an optimality gap of {self.optimality_gap_:.2g}; the bounds are "
                "valid. Scaled columns (ClippedScaler) or a larger radius bring them closer together.",
                ConvergenceWarning,
            )

    def _claims(self, posed: Any, data: TrainingData) -> Iterator[Claim]:
        return claims_of_ball(self, posed)

    def _fitted_rule(self) -> LinearRule | KernelRule:
        threshold = None if self._fitted_parameters.marginal == "empirical" else self.threshold_
        if self._products.kernel == "linear":
            return LinearRule.from_full(self.coef_, self.intercept_, threshold)
        return KernelRule(self._products, self._space, self.X_fit_, self.rows_, self.dual_coef_, threshold)

    def _apply(self, output: Any, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        if self._products.kernel != "linear":
            refuse_container(self, X)
        return super()._apply(output, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
