"""The classifier as a scikit-learn estimator: check, pose the problem, call an engine, store the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from minimaxrisk import solvers
from minimaxrisk._utils import choices
from minimaxrisk._utils.arguments import parameters_by_keyword
from minimaxrisk._utils.arrays import IntArray, answer, to_numpy
from minimaxrisk._utils.sklearn_private import Interval, fit_context
from minimaxrisk.engines.dispatch import approach_minimax_risks, problems_at_a_time, solve_minimax_risk
from minimaxrisk.engines.solution import (
    Bounds,
    IterationRecord,
    Monitor,
    Solution,
    StoppingRule,
)
from minimaxrisk.estimators.fit_support import engine_settings_of, warn_about_work
from minimaxrisk.estimators.prediction import draw_labels
from minimaxrisk.estimators.skeleton import CertifiedClassifier
from minimaxrisk.guarantees.certified import (
    BOX_OF_MEANS,
    DASK,
    ELSEWHERE,
    HISTORY,
    LIBRARY_CLASSIFIER,
    OTHER_LABELS,
    PROOF,
    RADIUS_PATH,
    SELECTION,
    Claim,
)
from minimaxrisk.guarantees.claims import claims_of_linear, moments_in_units_of
from minimaxrisk.problem import rule
from minimaxrisk.problem.pose import PosedBox
from minimaxrisk.problem.problem import Box
from minimaxrisk.problem.rule import LinearRule
from minimaxrisk.problem.sets import BOX
from minimaxrisk.samples.validation import TrainingData


@parameters_by_keyword
class MinimaxRiskClassifier(CertifiedClassifier):
    r"""Linear classifier on few features, with a certified worst-case error R*.

    For few samples and very many features, where one short rule with a proof is wanted. R* bounds the error
    of its randomized rule over all distributions whose feature means agree with the data within the radii.
    ``MinimaxRiskEnsembleClassifier`` errs less, on more features. ::

        model = MinimaxRiskClassifier().fit(X, y)
        model.predict(X_new), model.selected_features_, model.worst_case_error_

    Parameters
    ----------
    radius : float, "bootstrap" or array-like, default=1.0
        How the confidence radii are set. A number is the factor s; the paper takes 1. A larger one gives a
        larger uncertainty set, a larger R* and fewer selected features. No confidence
        goes with a number: R* then ranks models and features, but it is not a bound on the error, and can be
        small even if labels are noise. ``permutation_test`` shows how small.

        ``"bootstrap"`` chooses s such that all true means lie within the radii at once with probability
        ``confidence``, by a Gaussian multiplier bootstrap of the largest deviation, which adapts to
        correlations. Its coverage is asymptotic; a ``CoverageWarning`` says if the sample visibly breaks what
        it assumes.

        An array holds :math:`\lambda` itself, in the units and the shape of ``lambda_``; one row serves all
        classes.
    solver : str or Solver, default="auto"
        ``"interior-point"`` ends at the exact vertex; ``"first-order"`` needs no more memory than the data
        and comes as near to the optimum as ``gap_tol`` says, for many samples with many features, such as
        texts; ``"constraint-generation"`` solves small linear programs and adds the features that the last
        solution violates most, ``"constraint-and-column-generation"`` samples and sets of labels too, to a
        gap of about 0.01; ``"full-lp"`` passes all features to HiGHS at once, which is slow for many.
        ``"auto"`` is the interior point. It is first-order, with a warning, where ``gap_tol`` is None and an
        exact solution is predicted to take more than three seconds and 1.1 times as long as steps to a gap of
        1e-3, and where the interior point would take more than half an hour or 8 GB. Steps that hardly
        advance, as on pixels, make way for the exact solution. The optimum is the same.
        An object of ``minimaxrisk.solvers``, such as ``InteriorPoint(max_seconds=60)``, has the parameters of
        its solver, and a limit of time.
    coding : {"auto", "signed", "one-hot"}, default="auto"
        How labels enter the feature map. ``"signed"`` (two classes) uses one block of coefficients,
        ``"one-hot"`` one block per class; ``"auto"`` is signed for two classes and one-hot for more.
    moderation : float, default=1.0
        The standard errors of a class use its second moments, shrunk towards those of all samples as if
        ``moderation`` samples more had been measured. Without it, features of a class with one or two samples
        have small radii by chance, and new samples are often given to that class. 0 gives the paper's
        standard errors. It acts on the one-hot coding with a number as ``radius``. The signed coding, named
        radii and arrays do not depend on it.
    confidence : float, default=0.95
        The probability that ``radius="bootstrap"`` aims at.
    n_bootstrap : int, default=1000
        Draws of ``radius="bootstrap"``.
    standardize : bool, default=True
        Centre the columns and scale them to unit variance inside. ``coef_`` refers to the columns that
        were passed. R* does not depend on the scale of a column but does depend on its centre.
    marginal : {"free", "empirical"}, default="free"
        What the adversary may do to the distribution of the instances. ``"free"``, as in the paper: anything
        that the feature means allow. ``"empirical"``: nothing, labels alone may change, so that
        :math:`\varphi(\mu)` is the mean of :math:`\varphi_i(\mu)` over the training instances instead of the
        largest. R* is then smaller, and the rule of ``predict_proba`` has a threshold of its own for every
        instance. ``error_bound`` bounds the error for new samples.
    fit_intercept : bool, default=True
        Add a column of ones to the features.
    copy : {"auto", True, False}, default="auto"
        Whether ``fit`` makes a float64 copy of a dense X, centred and scaled. False reads X where it is,
        block by block: float32, float64 or whole numbers, in memory, in a ``numpy.memmap`` or in a zarr
        array; the answer is the same up to rounding. ``"auto"`` copies up to 2^26 entries, half a gigabyte,
        and of float32 up to 2^25.
    gap_tol : float or None, default=None
        The certified gap, upper less lower bound, at which the interior point and first-order stop. ``None``
        is 1e-6 for the interior point, and 1e-3 for first-order, where each further digit costs several times
        as much. A number is reached whatever it costs.
    deterministic : bool, default=True
        Whether ``predict`` takes the most probable class or draws from ``predict_proba``.
    class_weight : dict, "balanced" or None, default=None
        Weights per class. They are rescaled to leave the sum of the sample weights as it is.
    weight_kind : {"auto", "counts", "importance"}, default="auto"
        What ``sample_weight`` means to the confidence radii. ``"counts"``: a weight of 2 is the row twice,
        and n is the sum of the weights. ``"importance"``: a weight says how much a sample matters, as in a
        survey, and :math:`n = (\sum w)^2 / \sum w^2`. ``"auto"`` takes whole numbers for counts where R* is a
        score, and for importance, with a notice, under a named radius. Class weights are always of the second
        kind.
    random_state : int, RandomState instance or None, default=None
        Used by ``predict`` when ``deterministic=False``, and by ``fit`` for the draws of
        ``radius="bootstrap"``, where None is a fixed seed: they serve to compute a number.
    verbose : int, default=0
        If positive, one line per iteration goes to the logger ``"minimaxrisk"`` at level INFO, or to
        standard error where logging is not set up.
    callback : callable or None, default=None
        Called once an iteration with the record that goes into ``history_``; returning True stops
        the fit and keeps the best certified model so far.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients on the columns passed to ``fit``: one row for the signed coding, positive towards
        ``classes_[1]``, else one row per class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Constants of the decision function.
    threshold_ : float
        :math:`\varphi(\mu)`, the level above which scores turn into probabilities; with
        ``marginal="empirical"`` the mean over the training instances, each of which has its own.
    worst_case_error_ : float
        A certified upper bound on the error of the randomized rule over the uncertainty set.
    worst_case_error_lower_ : float
        A certified lower bound on R*: no rule has a smaller worst-case error.
    optimality_gap_ : float
        The difference of the two.
    worst_case_distribution_ : ndarray of shape (n_samples [+ n_unlabeled], n_classes)
        A distribution on the training samples and labels, inside the uncertainty set, against which
        every rule errs with probability at least ``worst_case_error_lower_``. Samples without a label
        follow those with one.
    selected_features_, n_features_selected_ : ndarray of int, int
        Indices of the columns with a non-zero coefficient, and their number.
    feature_importances_ : ndarray of shape (n_features,)
        Sum over the rows of ``coef_`` of its absolute values, times the column's standard deviation (its
        root mean square with ``standardize=False``).
    tau_, lambda_ : ndarray of shape (1 or n_classes, n_features [+ 1])
        Estimated means and radii of the features as the problem saw them: standardised if asked for,
        the intercept's column first if there is one.
    radius_ : float or None
        The factor s, given or found by the named rule; None where ``radius`` is an array. With three or more
        classes a named rule has a factor for each class, and this is that of the smallest class.
    radius_seed_ : int
        The seed of the draws of ``radius="bootstrap"``, with which ``verify`` repeats them.
    coverage_ : float or None
        The probability with which all true means lie within the radii, as far as the named rule's assumptions
        hold. None if ``radius`` is not a name: ``worst_case_error_`` is then not a bound on the error.
    coverage_remarks_ : tuple of str
        What the sample visibly breaks of these assumptions, as told by ``CoverageWarning``.
    coding_ : str
        The coding used: that given, or the one that ``"auto"`` chose.
    solver_ : str
        The solver that found the result: the one asked for, the one that ``"auto"`` chose, or constraint
        generation where the interior point got stuck.
    converged_ : bool
        Whether the solver met its own stopping rule.
    n_iter_ : int
        Iterations of the interior point or of first-order, or linear programs solved.
    n_passes_ : int
        How often all of X was read.
    history_ : list of dict
        One record per iteration, for first-order one per ten of them: ``iteration``, ``lower`` and ``upper``
        (the best certified bounds so far), ``worst_case_error`` (that of the iteration's own coefficients,
        the paper's R^k, or of the last ones scored on all instances), ``n_features``, ``n_added``,
        ``n_removed`` (components of Phi in the Newton matrix or linear program, for first-order those with
        a coefficient), ``max_violation`` (zero for the interior point), ``vertex`` (how the iteration came to
        a vertex, such as ``"square"`` or ``"HiGHS"``, empty if it did not; ``"HiGHS gave up"`` if that took
        too long), ``n_pivots`` (of simplex methods), ``seconds``. Callbacks are told ``seconds_left``,
        a forecast, as well.
    worst_case_errors_ : ndarray of shape (n_records,)
        ``worst_case_error`` of every record of ``history_``; for constraint generation the paper's
        sequence :math:`R^1, R^2` and so on.
    subset_sizes_ : ndarray of shape (n_records,)
        ``n_features`` of every record of ``history_``; for constraint generation the sizes of the paper's
        subsets :math:`\mathcal{J}`, counted as components of Phi.
    stages_ : list of LinearRule
        The rules of the iterations of constraint generation; for the interior point and first-order the last
        one alone.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had some.

    See Also
    --------
    MinimaxRiskClassifierCV : The same with a radius chosen from the data.
    MinimaxRiskEnsembleClassifier : Averages such classifiers, fitted on parts of the samples.
    minimax_risk_path : Classifiers for many radii at once.
    minimaxrisk.solvers.ConstraintGeneration : Algorithm 1 of the paper, with its parameters.
    verify : Recomputes the bounds of a fitted model without a solver.
    worst_case : The worst case of ``predict``.
    error_bound : A bound on the error for new samples that holds with a probability.
    permutation_test : What R* would be on noise.

    Notes
    -----
    The worst-case error is

    .. math:: R^* = \min_\mu \; 1 - \tau^T \mu + \lambda^T |\mu| + \varphi(\mu)

    where :math:`\tau` holds the means of :math:`\Phi(x, y)` over the training data,
    :math:`\lambda = s \, \sigma / \sqrt{n}` (with ``moderation`` of classes with few samples), and
    :math:`\varphi(\mu) = \max_{i, C} (\sum_{y \in C} \Phi(x_i, y)^T \mu - 1) / |C|` runs over training
    instances and sets of labels. The L1 penalty makes the coefficients sparse.

    The two bounds are computed from the coefficients and the distribution alone, without trust in the solver;
    ``minimaxrisk.verify`` repeats that on a fitted model. R* bounds the true error when the true feature
    means lie inside the radii and, for instances unlike those of the training data, only approximately.

    References
    ----------
    K. Bondugula, S. Mazuelas, A. Pérez, "Efficient Learning of Minimax Risk Classifiers in High
    Dimensions", UAI 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import MinimaxRiskClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimaxRiskClassifier().fit(X, y)
    >>> round(model.worst_case_error_, 4)
    0.2822
    """

    _set_kind = BOX
    _capabilities = frozenset(
        {
            LIBRARY_CLASSIFIER,
            PROOF,
            BOX_OF_MEANS,
            OTHER_LABELS,
            SELECTION,
            HISTORY,
            RADIUS_PATH,
            DASK,
            ELSEWHERE,
        }
    )
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "radius": [
            Interval(Real, 0, None, closed="neither"),
            choices.one_of(choices.RadiusOfBox),
            "array-like",
        ],
        "solver": [choices.one_of(choices.SolverName), solvers.Solver],
        "coding": [choices.one_of(choices.Coding)],
        "moderation": [Interval(Real, 0, None, closed="left")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "n_bootstrap": [Interval(Integral, 1, None, closed="left")],
        "standardize": ["boolean"],
        "marginal": [choices.one_of(choices.Marginal)],
        "fit_intercept": ["boolean"],
        "copy": ["boolean", choices.one_of(choices.Auto)],
        "gap_tol": [Interval(Real, 0, None, closed="left"), None],
        "deterministic": ["boolean"],
        "class_weight": [dict, choices.one_of(choices.Balanced), None],
        "weight_kind": [choices.one_of(choices.WeightKind)],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        radius: choices.Radius = 1.0,
        *,
        solver: choices.SolverName | solvers.Solver = "auto",
        coding: choices.Coding = "auto",
        moderation: float = 1.0,
        confidence: float = 0.95,
        n_bootstrap: int = 1000,
        standardize: bool = True,
        marginal: choices.Marginal = "free",
        fit_intercept: bool = True,
        copy: bool | choices.Auto = "auto",
        gap_tol: float | None = None,
        deterministic: bool = True,
        class_weight: choices.ClassWeight = None,
        weight_kind: choices.WeightKind = "auto",
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[[IterationRecord], Any] | None = None,
    ) -> None:
        self.radius = radius
        self.solver = solver
        self.coding = coding
        self.moderation = moderation
        self.confidence = confidence
        self.n_bootstrap = n_bootstrap
        self.standardize = standardize
        self.marginal = marginal
        self.fit_intercept = fit_intercept
        self.copy = copy
        self.gap_tol = gap_tol
        self.deterministic = deterministic
        self.class_weight = class_weight
        self.weight_kind = weight_kind
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None, groups: Any = None
    ) -> Self:
        """Learn the rule.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask array} of shape (n_samples, n_features)
            Training instances. Sparse input is never made dense. The chunks of a dask array stay with its
            workers, which do the work there.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, which ``weight_kind`` gives a meaning: a count of 2 is the row twice. 0 is no row.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features) or None, default=None
            Instances without a label. Means, radii and scales do not depend on them, but the adversary may
            put mass there, so that the bound holds for them as for the training instances, and R* can only be
            larger. A pipeline transforms them only with metadata routing and
            ``transform_input=["X_unlabeled"]``.
        groups : array-like of shape (n_samples,) or None, default=None
            Samples with the same entry, such as measurements of one patient, are not independent. The radii
            then count groups: a group is worth as much as a sample with the mean of its features. Means and
            the error are still those of samples. Samples of a group may have different labels, as matched
            pairs do, with two classes and the signed coding; radii then come from differences within groups.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X, y or a weight is not what it must be, or if a parameter is out of its range.

        Warns
        -----
        CoverageWarning
            If the sample visibly breaks what a named radius rule assumes.
        LargeFitWarning
            Before a fit that takes an hour or more, or more memory than is free.
        ConvergenceWarning
            If the solver stopped short of its tolerance; the bounds are valid nevertheless.
        UnderfitWarning
            If a class is never predicted on the training data, or the most common one alone would do as well.
        """
        return self._learn(X, y, sample_weight=sample_weight, X_unlabeled=X_unlabeled, groups=groups)

    def _problems_at_a_time(self, problem: Box) -> int:
        return problems_at_a_time(problem, engine_settings_of(self, self.n_features_in_))

    def _bounds(self, problems: Sequence[Box], enough: StoppingRule) -> list[Bounds]:
        found = approach_minimax_risks(problems, engine_settings_of(self, self.n_features_in_), enough)
        return [each.bounds for each in found]

    def _check(self, data: TrainingData, checked: Any, parameters: Any) -> None:
        if self.marginal == "empirical" and data.n_unlabeled:
            raise ValueError(
                "X_unlabeled must be None with marginal='empirical', where the adversary cannot move mass to "
                "other instances; use marginal='free'."
            )
        engine_settings_of(self, checked.n_features_in_)  # refused before any work
        warn_about_work(data, self.coding, self.copy)

    def _solved(self, posed: PosedBox, data: TrainingData, parameters: Any, monitor: Monitor) -> Solution:
        return solve_minimax_risk(posed.problem, engine_settings_of(self, data.X.shape[1]), monitor)

    def _predicted(self, X: Any) -> np.ndarray:
        if self.deterministic:
            return super()._predicted(X)
        drawn = draw_labels(to_numpy(self.predict_proba(X)), self.random_state, self.classes_)
        return answer(X, drawn)

    @property
    def worst_case_errors_(self) -> np.ndarray:
        """``worst_case_error`` of every record of ``history_``; the paper's R^1, R^2, ..."""
        return np.array([record["worst_case_error"] for record in self.history_])

    @property
    def subset_sizes_(self) -> np.ndarray:
        """``n_features`` of every record of ``history_``; the sizes of the paper's subsets J."""
        return np.array([record["n_features"] for record in self.history_], dtype=np.intp)

    def _fitted_rule(self) -> LinearRule:
        threshold = None if self._fitted_parameters.marginal == "empirical" else self.threshold_
        return LinearRule.from_full(self.coef_, self.intercept_, threshold)

    def _claims(self, posed: Any, data: TrainingData) -> Iterator[Claim]:
        return claims_of_linear(self, posed)

    def _store(self, posed: PosedBox, data: TrainingData, solved: Solution, parameters: Any) -> IntArray:
        problem, scale = posed.problem, posed.problem.scale
        stage, self._fitted_parameters = solved.stage, clone(self._without_callback())
        _, scores = problem.penalty_and_scores(stage.components, stage.values)
        # Where every instance has a threshold of its own, this is their mean.
        self.threshold_ = problem.marginal.largest_mean(rule.instance_thresholds(scores))
        final = LinearRule.of_some(stage.components, stage.values, problem, self.threshold_)
        self.coef_, self.intercept_ = final.full_coef, final.intercept
        self.selected_features_ = final.columns
        self.n_features_selected_ = len(self.selected_features_)
        sizes = stage.sizes_of_columns(problem.shape[1])
        self.feature_importances_ = scale.for_columns(sizes[None])[0, scale.n_leading :]
        self._store_bounds(posed, solved)
        self._store_set(posed, parameters)
        self._store_history(solved)
        self.tau_, self.lambda_ = moments_in_units_of(parameters, problem)
        self.n_passes_ = 1 + problem.features.n_passes  # the first one scales and takes the moments
        self.stages_ = [
            final if each is stage else LinearRule.of_some(each.components, each.values, problem)
            for each in solved.stages
        ]
        return rule.arg_max(scores)[posed.instances.instance_of_row]
