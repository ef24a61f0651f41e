"""The L1 support vector machine as a scikit-learn estimator, solved by the engines of the minimax problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from minimaxrisk._utils import choices
from minimaxrisk._utils.arguments import parameters_by_keyword
from minimaxrisk._utils.arrays import FloatArray
from minimaxrisk._utils.notices import warn
from minimaxrisk._utils.sklearn_private import Interval, fit_context, with_callbacks
from minimaxrisk.engines.dispatch import remark_on_end, solve_by_simplex
from minimaxrisk.engines.solution import EngineSettings, IterationRecord, Monitor, Solution, TimeLimit
from minimaxrisk.estimators.skeleton import Learner
from minimaxrisk.guarantees.certified import DASK, LIBRARY_CLASSIFIER, SELECTION
from minimaxrisk.problem.pose import PosedL1SVM, pose_l1_svm
from minimaxrisk.problem.rule import LinearRule
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.solvers import ConstraintGeneration, FullLP, Solver, settings_of

SOLVERS: dict[str, Solver] = {
    "auto": ConstraintGeneration(initial_features="first-order"),
    "constraint-generation": ConstraintGeneration(initial_features="first-order"),
    "full-lp": FullLP(),
}
# The accepted gap: this many times the tolerance, and always this fraction of the objective.
ACCEPTED_GAPS, SMALLEST_GAP = 10.0, 1e-6


@parameters_by_keyword
class L1SVMClassifier(Learner):
    r"""Linear support vector machine with an L1 penalty, exact and certified.

    The method that the paper compares minimax risk classifiers with; take it to compare, or to select
    features. More than two classes are learned one against the rest. ::

        model = L1SVMClassifier().fit(X, y)
        model.objective_lower_ <= model.objective_, model.selected_features_

    Parameters
    ----------
    alpha : float or None, default=None
        The penalty, on coefficients of the columns as the problem sees them (standardised or not). ``None``
        is a hundredth of :math:`\max_j \sum_i c_i |x_{ij}|`, a value at which no feature would be selected.
    solver : {"auto", "constraint-generation", "full-lp"}, ConstraintGeneration or FullLP, default="auto"
        ``"auto"`` and ``"constraint-generation"`` are ``ConstraintGeneration`` of ``minimaxrisk.solvers``
        with ``initial_features="first-order"``; its ``epsilon`` is here a fraction of the penalty.
        ``"full-lp"`` passes all features to HiGHS at once.
    standardize : bool, default=True
        Centre the columns and scale them to unit variance inside. ``coef_`` refers to the columns that
        were passed.
    fit_intercept : bool, default=True
        Whether there is a constant b.
    copy : {"auto", True, False}, default="auto"
        Whether ``fit`` makes a float64 copy of a dense X or reads it where it is; see
        ``MinimaxRiskClassifier``.
    class_weight : dict, "balanced" or None, default=None
        Weights per class. They are rescaled to leave the sum of the sample weights as it is.
    verbose : int, default=0
        If positive, one line per iteration goes to the logger ``"minimaxrisk"`` at level INFO, or to
        standard error where logging is not set up.
    callback : callable or None, default=None
        Called once an iteration with the record that goes into ``history_``; returning True stops the fit
        and keeps the best certified model so far.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients on the columns passed to ``fit``, one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constants of the decision function.
    alpha_ : float
        The penalty used.
    objective_ : float
        Hinge loss plus penalty of the coefficients, summed over classes against the rest.
    objective_lower_ : float
        A certified lower bound on the smallest possible value, from ``dual_coef_`` alone.
    optimality_gap_ : float
        The difference of the two.
    dual_coef_ : ndarray of shape (1 or n_classes, n_samples)
        The dual solution, times the sign of the label.
    selected_features_, n_features_selected_ : ndarray of int, int
        Indices of the columns with a non-zero coefficient, and their number.
    feature_importances_ : ndarray of shape (n_features,)
        Sum over the rows of ``coef_`` of its absolute values, times the column's standard deviation (its
        root mean square with ``standardize=False``).
    solver_ : str
        The solver used: that given, or the one that ``"auto"`` chose.
    converged_ : bool
        Whether the stopping rule was met.
    n_iter_ : int
        Linear programs solved, over all classes.
    n_passes_ : int
        How often all of X was read.
    history_ : list of dict
        One record per linear program: ``problem`` (which class against the rest), ``iteration``, ``lower``,
        ``upper`` and ``objective`` of that class, ``n_features``, ``n_added``, ``n_removed``,
        ``max_violation`` (as a fraction of the smallest penalty of a column), ``vertex`` (always
        ``"HiGHS"``), ``n_pivots``, ``seconds``.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    See Also
    --------
    MinimaxRiskClassifier : The classifier with a worst-case error, by the same engines.

    Notes
    -----
    The objective is

    .. math:: \min_{\beta, b} \; \sum_i c_i \, (1 - y_i (x_i^T \beta + b))_+ + \alpha \, \|\beta\|_1

    a linear program with the plain hinge loss (liblinear's ``penalty="l1"`` squares it) and an intercept that
    is not penalised; :math:`c_i` are the sample weights.

    Any coefficients bound the optimum from above, and any dual point, shrunk until it satisfies all
    constraints, from below. The two bounds are computed in this way and do not rely on the solver.

    References
    ----------
    A. Dedieu, R. Mazumder, H. Wang, "Solving L1-regularized SVMs and Related Linear Programs: Revisiting
    the Effectiveness of Column and Constraint Generation", Journal of Machine Learning Research 23, 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import L1SVMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = L1SVMClassifier().fit(X, y)
    >>> bool(model.optimality_gap_ < 1e-6)
    True
    """

    _quantity = "objective"
    _capabilities = frozenset({LIBRARY_CLASSIFIER, SELECTION, DASK})
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="neither"), None],
        "solver": [choices.one_of(choices.L1SVMSolver), ConstraintGeneration, FullLP],
        "standardize": ["boolean"],
        "fit_intercept": ["boolean"],
        "copy": ["boolean", choices.one_of(choices.Auto)],
        "class_weight": [dict, choices.one_of(choices.Balanced), None],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        alpha: float | None = None,
        *,
        solver: choices.L1SVMSolver | ConstraintGeneration | FullLP = "auto",
        standardize: bool = True,
        fit_intercept: bool = True,
        copy: bool | choices.Auto = "auto",
        class_weight: choices.ClassWeight = None,
        verbose: int = 0,
        callback: Callable[[Any], Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.solver = solver
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.copy = copy
        self.class_weight = class_weight
        self.verbose = verbose
        self.callback = callback

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rule.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Training instances. Sparse input is never made dense.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights. A weight of 2 is the same as the row twice, a weight of 0 as no row.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._learn(X, y, sample_weight=sample_weight)

    def _engine_settings(self, n_features: int) -> EngineSettings:
        return settings_of(self.solver, n_features, SOLVERS)

    def _check(self, data: TrainingData, checked: Any, parameters: Any) -> None:
        self._engine_settings(checked.n_features_in_)  # refused before any work

    def _posed(self, data: TrainingData, parameters: Any) -> PosedL1SVM:
        return pose_l1_svm(
            data,
            alpha=self.alpha,
            standardize=self.standardize,
            fit_intercept=self.fit_intercept,
            copy=self.copy,
        )

    def _remedies(self, data: TrainingData, parameters: Any) -> list[str]:
        return [*super()._remedies(data, parameters), "a smaller alpha"]

    def _warn(self, posed: PosedL1SVM, data: TrainingData, solved: _Solved) -> None:
        solutions, settings = solved.solutions, self._engine_settings(self.n_features_in_)
        remarks = [remark_on_end(settings, solution, self.optimality_gap_) for solution in solutions]
        if any(remarks):
            warn(f"{next(filter(None, remarks))}.", ConvergenceWarning)
        elif all(solution.converged for solution in solutions) and not self.converged_:
            warn(
                f"the penalty is too small for the solver, with an optimality gap of "
                f"{self.optimality_gap_:.2g}; the bounds are valid, and a larger alpha makes it smaller.",
                ConvergenceWarning,
            )

    def _fitted_rule(self) -> LinearRule:
        return LinearRule.from_full(self.coef_, self.intercept_, threshold=None)

    def _solved(self, posed: PosedL1SVM, data: TrainingData, parameters: Any, monitor: Monitor) -> _Solved:
        """One class after the other; after an interrupt or a stop the rest stays trivial."""
        settings, solved = self._engine_settings(data.X.shape[1]), _Solved()
        limit = TimeLimit(settings.max_seconds, monitor)
        for k, (problem, loss) in enumerate(posed.binary):
            if solved.has_ended:
                solved.solutions.append(Solution.trivial(problem, loss))
                solved.solutions[-1].stopped = True
                continue
            penalty = float(problem.lam.min())
            own = replace(settings, epsilon=settings.epsilon * penalty)
            tell = _in_units_of_the_caller(k, posed.instances.total_weight, penalty, solved.history, limit)
            solution = solve_by_simplex(problem, loss, own, tell, limit.deadline)
            solution.out_of_time |= limit.has_stopped
            solved.solutions.append(solution)
        return solved

    def _store(self, posed: PosedL1SVM, data: TrainingData, solved: _Solved, parameters: Any) -> None:
        n, solutions, history = posed.instances.total_weight, solved.solutions, solved.history
        epsilon = self._engine_settings(self.n_features_in_).epsilon
        self.dual_coef_ = _dual_coefficients(data, posed, solutions)
        mu = np.vstack([solution.mu for solution in solutions])
        constants = [
            loss.intercept(problem.scores_of(solution.mu))
            for (problem, loss), solution in zip(posed.binary, solutions, strict=True)
        ]
        scale = posed.scale
        columns, coef, intercept = scale.to_original(mu)
        found = LinearRule(scale.n_columns, columns, coef, intercept + np.array(constants), None)
        self.coef_, self.intercept_ = found.full_coef, found.intercept
        self.alpha_ = posed.alpha
        self.objective_ = n * sum(solution.upper for solution in solutions)
        # At the optimum the two are equal up to rounding.
        self.objective_lower_ = min(n * sum(solution.lower for solution in solutions), self.objective_)
        self.optimality_gap_ = self.objective_ - self.objective_lower_
        self.selected_features_ = columns
        self.n_features_selected_ = len(self.selected_features_)
        self.feature_importances_ = scale.for_columns(np.abs(mu)).sum(axis=0)
        self.solver_ = solutions[0].solver
        # With a penalty too small for the solver's tolerances a gap remains, although it sees no violation.
        is_close = self.optimality_gap_ <= max(ACCEPTED_GAPS * epsilon, SMALLEST_GAP) * self.objective_
        self.converged_ = is_close and all(solution.converged for solution in solutions)
        self.n_iter_ = len(history)
        self.n_passes_ = 1 + posed.binary[0][0].features.n_passes  # the first one scales
        self.history_ = history


@dataclass
class _Solved:
    """The solutions of the binary problems, and the history of all of them."""

    solutions: list[Solution] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def interrupted(self) -> bool:
        return any(solution.interrupted for solution in self.solutions)

    @property
    def has_ended(self) -> bool:
        return any(each.interrupted or each.stopped or each.out_of_time for each in self.solutions)


def _dual_coefficients(data: TrainingData, posed: PosedL1SVM, solutions: list[Solution]) -> FloatArray:
    """The dual solution on the rows of X (problems x rows), split among equal rows of one label."""
    known = np.flatnonzero(posed.instances.instance_of_row >= 0)
    instance, label = posed.instances.instance_of_row[known], data.labels[known]
    dual = np.zeros((len(solutions), len(data.labels)))
    for k, ((_, loss), solution) in enumerate(zip(posed.binary, solutions, strict=True)):
        side = (label == (k if len(solutions) > 1 else 1)).astype(np.intp)
        share = solution.distribution[side, instance] / loss.mass[side, instance]
        dual[k, known] = np.where(side == 1, 1.0, -1.0) * data.weights[known] * share
    return dual


def _in_units_of_the_caller(
    k: int, n: float, penalty: float, history: list[dict[str, Any]], tell: Monitor
) -> Monitor:
    """A monitor that stores records in ``history`` and passes them on, as sums over samples and not means."""

    def monitor(record: IterationRecord) -> bool:
        own: dict[str, Any] = {"problem": k, **record}
        own["objective"] = n * own.pop("worst_case_error")
        own["lower"], own["upper"] = n * record["lower"], n * record["upper"]
        own["max_violation"] = record["max_violation"] / penalty
        history.append(own)
        return tell(own.copy())  # type: ignore[arg-type]  # the listener reads entries by name

    return monitor
