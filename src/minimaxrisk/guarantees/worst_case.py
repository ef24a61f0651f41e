"""The smallest and the largest error of a fixed rule over an uncertainty set: two linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from minimaxrisk._utils import choices
from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk.engines.interior_point.expected_loss import largest_loss
from minimaxrisk.engines.paper import constraint_generation
from minimaxrisk.guarantees.certified import BOX_OF_MEANS, ColumnRule, Estimator, meaning_of_set
from minimaxrisk.guarantees.fitted_problem import (
    FittedProblem,
    as_fitted_problem,
    check_classes,
    loss_of_rule,
)
from minimaxrisk.problem.objective import ExpectedLoss
from minimaxrisk.problem.pose import PosedBox
from minimaxrisk.problem.problem import Box
from minimaxrisk.problem.rule import LinearRule

# Components of the first program, per instance and block: a vertex has one at most, an average many more.
STARTS_PER_INSTANCE = 4
# Columns that HiGHS takes in a round, and violations that it leaves. They must be far less than a radius: the
# proof is a distribution of the set, and one that is outside moves by as much of a radius as it is outside.
N_MAX, EPSILON = 100, 1e-9


@dataclass(frozen=True)
class WorstCase:
    """Smallest and largest error probability of a fixed rule over the uncertainty set.

    These are facts about the set, without a probability; hence not an ``ErrorBound``.

    Attributes
    ----------
    rule : str
        ``"predict"`` or ``"randomized"``.
    lower, upper : float
        Certified bounds on the error, valid whatever the solver did.
    lower_gap, upper_gap : float
        The smallest error of the set is at most ``lower + lower_gap``, the largest at least
        ``upper - upper_gap``.
    coverage : float or None
        The confidence that goes with the radii, ``coverage_`` of the model. None if none is stated:
        the set then need not contain the true distribution. ``print`` shows which it is.
    """

    rule: str
    lower: float
    upper: float
    lower_gap: float
    upper_gap: float
    coverage: float | None = None

    def __str__(self) -> str:
        return (
            f"Error rate of the rule {self.rule!r} over the uncertainty set: {self.lower:.6f} to "
            f"{self.upper:.6f}. {meaning_of_set(self.coverage)}"
        )


def worst_case(
    model: Estimator | FittedProblem,
    X: Any = None,
    y: Any = None,
    *,
    rule: choices.Rule = "predict",
    sample_weight: Any = None,
    X_unlabeled: Any = None,
    groups: Any = None,
) -> WorstCase:
    """Find the smallest and the largest error of a fitted rule over its uncertainty set.

    For ``predict``, which R* does not bound directly, and for the best case as well as the worst. Two linear
    programs answer it, and their solutions prove the answer.

    Parameters
    ----------
    model : MinimaxRiskClassifier, MinimaxRiskEnsembleClassifier or FittedProblem
        A fitted classifier or ensemble, alone, at the end of a pipeline or in a search; or a
        ``FittedProblem``, which has the data.
    X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features) or None, default=None
        Instances that define the uncertainty set, normally those that the model was fitted on.
    y : array-like of shape (n_samples,) or None, default=None
        Their labels.
    rule : {"predict", "randomized"}, default="predict"
        Whose error. ``"randomized"``: the rule that R* is about, which draws labels from ``predict_proba``;
        of an ensemble its mean rule. ``"predict"``: the most probable class of that rule, which ``predict``
        names unless ``deterministic=False``. An estimator that calibrates itself may predict another class:
        its worst case is about the decision before calibration.
    sample_weight, X_unlabeled, groups : array-like or None, default=None
        Weights, instances without a label, and samples that are not independent, as for ``fit``.

    Returns
    -------
    WorstCase
        The smallest and the largest error, and how near to the true extremes they are proven to be.

    See Also
    --------
    verify : Confirms the bounds that the fit itself has proven, without a solver.
    error_bound : A bound on the error for new samples that holds with a probability.

    Notes
    -----
    The error of ``predict`` is never more than twice R*; its own worst case is usually much smaller.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import MinimaxRiskClassifier, worst_case
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimaxRiskClassifier().fit(X, y)
    >>> found = worst_case(model, X, y, rule="predict")
    >>> bool(found.upper < 2 * model.worst_case_error_)
    True
    """
    if rule not in get_args(choices.Rule):
        raise ValueError(f"rule must be 'predict' or 'randomized', got {rule!r}.")
    fit = as_fitted_problem(
        model,
        X,
        y,
        function="worst_case",
        needed=(BOX_OF_MEANS,),
        sample_weight=sample_weight,
        X_unlabeled=X_unlabeled,
        groups=groups,
    )
    check_classes(fit.model, fit.data.classes)
    fitted: Any = fit.model._fitted_rule()
    with suitable_threads(len(fit.data.labels)):
        posed = fit.posed_by_stored_radius
        loss = loss_of_rule(fitted, rule, fit.data, posed)
        largest, smallest = (worst_case_of_loss(each, fitted, posed) for each in (loss, -loss))
    return WorstCase(
        rule=rule,
        lower=max(0.0, -smallest.upper),
        upper=min(1.0, largest.upper),
        lower_gap=smallest.upper - smallest.lower,
        upper_gap=largest.upper - largest.lower,
        coverage=fit.model.coverage_,
    )


@dataclass(frozen=True)
class WorstCaseOfRule:
    """The largest expected loss of a fixed rule over the set, and the affine function that proves it.

    On every instance of the program ``loss(y|x) <= affine.threshold + affine.scores(x)[y]``, and the mean of
    the right-hand side is at most ``upper`` for every distribution of the set. Where the masses of instances
    are known, the threshold is None: every instance has the smallest one for which that holds.
    """

    upper: float
    lower: float
    affine: LinearRule
    distribution: FloatArray  # of the set, on which the rule loses ``lower`` (K x n)


def worst_case_of_rule(fit: FittedProblem, rule: str) -> WorstCaseOfRule:
    """Find the largest error of a rule over the uncertainty set of the fit."""
    check_classes(fit.model, fit.data.classes)
    fitted, posed = fit.model._fitted_rule(), fit.posed_by_stored_radius
    return worst_case_of_loss(loss_of_rule(fitted, rule, fit.data, posed), fitted, posed)


def worst_case_of_loss(loss: FloatArray, fitted: ColumnRule, posed: PosedBox) -> WorstCaseOfRule:
    """Find the largest expected loss of a rule over the set.

    Constraint generation, which is needed where the interior point fails, starts with the components that the
    rule uses, or of very many with those that it uses most.
    """
    problem = posed.problem
    use = fitted.use_of_components(problem.scale).ravel()
    n_most = STARTS_PER_INSTANCE * problem.n_instances * problem.coding.n_blocks
    used = np.flatnonzero(use)
    return largest_expected_loss(problem, loss, used[np.argsort(-use[used], kind="stable")[:n_most]])


def largest_expected_loss(problem: Box, loss: FloatArray, start: IntArray) -> WorstCaseOfRule:
    """Find the distribution of the set on which the mean of ``loss`` (K x n) is largest.

    If the interior point fails, constraint generation starts from the components ``start``.
    """
    objective = ExpectedLoss(loss, problem.marginal)
    solution = largest_loss(problem, objective)
    if solution is None:
        solution = constraint_generation(problem, objective, start, n_max=N_MAX, epsilon=EPSILON)
    if solution.interrupted:
        raise KeyboardInterrupt
    # loss + scores of mu <= conjugate, so the function with coefficients -mu and that constant is above it.
    needed = np.max(loss + problem.scores_of(solution.mu), axis=0)
    threshold = None if problem.marginal.is_known else problem.marginal.largest_mean(needed)
    return WorstCaseOfRule(
        upper=solution.upper,
        lower=min(solution.lower, solution.upper),  # equal but for rounding
        affine=LinearRule.from_mu(-solution.mu, threshold, problem.coding, problem.scale),
        distribution=solution.distribution,
    )
