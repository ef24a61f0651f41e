"""A minimax risk classifier with a ball of means in place of a box, by a kernel or on all columns."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from minimaxrisk._utils.arguments import parameters_by_keyword
from minimaxrisk._utils.arrays import refuse_elsewhere
from minimaxrisk._utils.dask_arrays import is_dask_array
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk._utils.notices import warn
from minimaxrisk._utils.sklearn_private import Interval, StrOptions, fit_context
from minimaxrisk.engines.ball import BallSolution, solve_ball
from minimaxrisk.estimators.fitting import radius_seed_of, start_over
from minimaxrisk.estimators.prediction import ProbabilityMixin
from minimaxrisk.features.kernel import KERNELS
from minimaxrisk.guarantees.posed_fit import coverage_of
from minimaxrisk.problem.ball import PosedBall, pose_ball
from minimaxrisk.problem.rule import KernelRule, LinearRule
from minimaxrisk.samples.validation import check_training_data


@parameters_by_keyword
class MinimaxRiskKernelClassifier(ProbabilityMixin, BaseEstimator):
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
        Parameter of most kernels: ``"scale"`` is ``1 / (n_features * X.var())``, ``"auto"`` 1 / n_features.
    degree : float, default=3
        Parameter of ``"poly"``.
    coef0 : float, default=0.0
        Parameter of ``"poly"`` and ``"sigmoid"``.
    radius : float or "bootstrap", default=0.3
        The radius of the ball: a number of standard errors of the mean feature vector, or so large that the
        ball contains the true mean with probability ``confidence``.
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
    coding_ : str
        The coding used.
    n_iter_ : int
        Steps of the solver.
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions({*KERNELS, "precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Real],
        "radius": [Interval(Real, 0, None, closed="neither"), StrOptions({"bootstrap"})],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "n_bootstrap": [Interval(Integral, 1, None, closed="left")],
        "marginal": [StrOptions({"free", "empirical"})],
        "coding": [StrOptions({"auto", "signed", "one-hot"})],
        "fit_intercept": ["boolean"],
        "gap_tol": [Interval(Real, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "weight_kind": [StrOptions({"auto", "counts", "importance"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = "linear",
        *,
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        radius: Any = 0.3,
        confidence: float = 0.95,
        n_bootstrap: int = 1000,
        marginal: str = "free",
        coding: str = "auto",
        fit_intercept: bool = True,
        gap_tol: float = 1e-6,
        class_weight: Any = None,
        weight_kind: str = "auto",
        random_state: Any = None,
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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> MinimaxRiskKernelClassifier:
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
        """
        _refuse_dask(X)
        refuse_elsewhere(X, type(self).__name__)
        checked = copy(self)
        data = check_training_data(
            checked,
            X,
            y,
            sample_weight=sample_weight,
            class_weight=self.class_weight,
            weight_kind=self.weight_kind,
            groups=groups,
        )
        seed = radius_seed_of(self)
        with suitable_threads(len(data.labels)):
            posed = pose_ball(self, data, seed)
            solution = solve_ball(posed.problem, gap_tol=self.gap_tol)
        start_over(self, checked)
        self.classes_, self.radius_seed_ = data.classes, seed
        self._store(posed, solution)
        if solution.gap > max(self.gap_tol, 1e-6):
            warn(
                f"the solver stopped with an optimality gap of {solution.gap:.2g}; the bounds are valid.",
                ConvergenceWarning,
            )
        return self

    def _store(self, posed: PosedBall, solution: BallSolution) -> None:
        problem = posed.problem
        scores = problem.scores_of(solution.coefficients)
        self.threshold_ = problem.threshold_of(scores)
        self.worst_case_error_ = solution.upper
        # At the optimum the two meet, and rounding could put the lower one on top by 1e-16.
        self.worst_case_error_lower_ = min(solution.lower, solution.upper)
        self.optimality_gap_ = self.worst_case_error_ - self.worst_case_error_lower_
        self.worst_case_distribution_ = posed.instances.to_rows(solution.distribution)
        # Adding 0.0 turns -0.0 into 0.0, which prints better.
        self.dual_coef_ = problem.orientation * solution.coefficients + 0.0
        self.rows_ = posed.instances.rows
        self.radius_, self.ball_radius_ = posed.factor, problem.radius
        self.coverage_ = coverage_of(self)
        self.coding_, self.n_iter_ = problem.coding.name, solution.n_iterations
        self._products, self._space = posed.products, posed.space
        self.X_fit_ = None
        if self.kernel == "linear":
            self.coef_, self.intercept_ = posed.linear(self.dual_coef_)
        elif self.kernel != "precomputed":
            self.X_fit_ = posed.X

    def _fitted_rule(self) -> LinearRule | KernelRule:
        threshold = None if self.marginal == "empirical" else self.threshold_
        if self.kernel == "linear":
            return LinearRule.from_full(self.coef_, self.intercept_, threshold)
        return KernelRule(self._products, self._space, self.X_fit_, self.rows_, self.dual_coef_, threshold)

    def _apply(self, output: Any, X: Any) -> Any:
        if self.kernel != "linear":
            _refuse_dask(X)
        return super()._apply(output, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _refuse_dask(X: Any) -> None:
    if is_dask_array(X):
        raise TypeError(
            "MinimaxRiskKernelClassifier works on arrays and sparse matrices in memory, got a dask array; "
            "pass X.compute(), or use MinimaxRiskClassifier."
        )
