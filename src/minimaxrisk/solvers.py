"""Solvers as objects, for those who want another one than the default or another limit.

A solver object holds the parameters that its algorithm alone has. Estimators take one as ``solver``, or its
name if the defaults will do. Searches reach the parameters, as in ``solver__n_max``.

    >>> from minimaxrisk import MinimaxRiskClassifier
    >>> from minimaxrisk.solvers import ConstraintGeneration
    >>> model = MinimaxRiskClassifier(solver=ConstraintGeneration(n_max=50))
    >>> model.set_params(solver__n_max=20).solver
    ConstraintGeneration(n_max=20)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from minimaxrisk._utils import choices
from minimaxrisk._utils.sklearn_private import Interval
from minimaxrisk.engines.solution import EngineSettings

__all__ = [
    "ConstraintAndColumnGeneration",
    "ConstraintGeneration",
    "FirstOrder",
    "FullLP",
    "InteriorPoint",
    "Solver",
]

_POSITIVE_INTEGER = Interval(Integral, 1, None, closed="left")
_MAX_SECONDS = [Interval(Real, 0, None, closed="neither"), None]


class Solver(BaseEstimator):
    """What solvers have in common: ``get_params``, ``set_params``, and the name of their algorithm.

    See Also
    --------
    InteriorPoint : The default.
    FirstOrder : For what no dense matrix holds.
    ConstraintGeneration : Algorithm 1 of the paper.
    ConstraintAndColumnGeneration : The algorithm of its authors' next paper, for many samples and classes.
    FullLP : One linear program.
    """

    _name: ClassVar[str]
    _parameter_constraints: ClassVar[dict[str, Any]]

    def _own_settings(self, n_features: int) -> dict[str, Any]:
        """The parameters, by the names that engines have for them."""
        return self.get_params(deep=False)


class _Iterative(Solver):
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_iter": [_POSITIVE_INTEGER, None],
        "max_seconds": _MAX_SECONDS,
    }

    def __init__(self, *, max_iter: int | None = None, max_seconds: float | None = None) -> None:
        self.max_iter = max_iter
        self.max_seconds = max_seconds


class InteriorPoint(_Iterative):
    """Goes through the inside of the uncertainty set and ends at the exact vertex; the default.

    It stops at a certified gap of the estimator's ``gap_tol``, for which None is 1e-6.

    Parameters
    ----------
    max_iter : int or None, default=None
        The largest number of iterations; None goes on until convergence, which takes some tens.
    max_seconds : float or None, default=None
        The solver stops after the iteration in which so much time has passed. The bounds of the best pair so
        far are valid; ``converged_`` is False, and a ``ConvergenceWarning`` says which gap was reached. The
        time that it takes to read X and to find the radii does not count.

    See Also
    --------
    FirstOrder : Where the interior point would take too much memory or time.
    minimaxrisk.MinimaxRiskClassifier : Takes it as ``solver``.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier
    >>> from minimaxrisk.datasets import make_expression
    >>> from minimaxrisk.solvers import InteriorPoint
    >>> study = make_expression(40, 500, effect=1.5, random_state=0)
    >>> model = MinimaxRiskClassifier(solver=InteriorPoint(max_seconds=60)).fit(study.data, study.target)
    >>> model.converged_
    True
    """

    _name = "interior-point"


class FirstOrder(_Iterative):
    """Primal-dual steps that only multiply by the data, for many samples with many features, such as texts.

    They need no more memory than the data, and stop at a certified gap of the estimator's ``gap_tol``, for
    which None is 1e-3: each further digit takes several times as long.

    Parameters
    ----------
    max_iter : int or None, default=None
        The largest number of steps; None is 5000.
    max_seconds : float or None, default=None
        The solver stops, after one of every ten steps, when so much time has passed, as ``InteriorPoint``.

    See Also
    --------
    InteriorPoint : Exact, where it fits.
    minimaxrisk.MinimaxRiskClassifier : Takes it as ``solver``.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier
    >>> from minimaxrisk.datasets import make_text
    >>> from minimaxrisk.solvers import FirstOrder
    >>> text = make_text(300, 1000, random_state=0)
    >>> model = MinimaxRiskClassifier(solver=FirstOrder(), gap_tol=0.01).fit(text.data, text.target)
    >>> bool(model.optimality_gap_ <= 0.01)
    True
    """

    _name = "first-order"


class ConstraintGeneration(Solver):
    r"""Algorithm 1 of the paper, MRC-CG: small linear programs, and features that the last one violates.

    The parameters have the paper's names. Iteration k solves the linear program of a subset
    :math:`\mathcal{J}` of the features, counted as components of :math:`\Phi`; its optimum is :math:`R^k`,
    which never rises. The fitted classifier has :math:`R^1, R^2, \dots` as ``worst_case_errors_`` and the
    sizes of the subsets as ``subset_sizes_``.

    Parameters
    ----------
    initial_features : {"correlation", "first-order"} or array of int, default="correlation"
        The initial subset of features :math:`\mathcal{I}`. ``"correlation"``, the paper's correlation
        screening: the ``n_max`` components whose mean products with the label exceed their radius most.
        ``"first-order"``, the paper's few iterations of a first-order method: those with the largest
        coefficients after 40 steps. An array: columns of X by index. The optimum does not depend on it.
    n_max : int, default=100
        :math:`n_{\max}`, the largest number of features that SELECT adds in an iteration, and the number that
        the two named starts take.
    epsilon : float, default=1e-4
        :math:`\epsilon`, the violation of a dual constraint up to which SELECT does not add its feature, for
        columns at unit root mean square. At the end :math:`R^k \le R^* + \epsilon \|\mu^*\|_1`.
    k_max : int or None, default=None
        :math:`k_{\max}`, the largest number of iterations after the first linear program, so that there are
        at most :math:`R^1, \dots, R^{k_{\max}+1}`, as printed. None goes on until no feature is added.
    select : {"in-out", "as-printed"}, default="in-out"
        Algorithm 2, SELECT. ``"as-printed"``: with :math:`v = |F^T \alpha - \tau| - \lambda` at the dual
        solution :math:`\alpha` the features of the subset with :math:`v_i = 0` stay, those with
        :math:`v_i < 0` leave, and of those with :math:`v_i > \epsilon` the ``n_max`` largest enter. Where
        :math:`R^k` stands still this may come back to an earlier subset, so that it needs ``k_max``, as in
        the paper. ``"in-out"``: the same for as long as :math:`R^k` falls; while it stands still no feature
        leaves, and those enter whose constraint is met first on the way from a distribution inside the
        uncertainty set to :math:`\alpha`. It ends for any data, often after fewer iterations. Components
        with a radius below ``epsilon`` are added from a hundredth of their radius on.
    max_seconds : float or None, default=None
        The solver stops when so much time has passed, also within a linear program, as ``InteriorPoint``.

    See Also
    --------
    FullLP : All features in one program.
    minimaxrisk.MinimaxRiskClassifier : Takes it as ``solver``.

    References
    ----------
    K. Bondugula, S. Mazuelas, A. Pérez, "Efficient Learning of Minimax Risk Classifiers in High
    Dimensions", UAI 2023.

    Examples
    --------
    >>> from minimaxrisk import MinimaxRiskClassifier
    >>> from minimaxrisk.datasets import make_expression
    >>> from minimaxrisk.solvers import ConstraintGeneration
    >>> study = make_expression(40, 500, effect=1.5, random_state=0)
    >>> paper = ConstraintGeneration(n_max=20, epsilon=1e-4, k_max=20, select="as-printed")
    >>> model = MinimaxRiskClassifier(solver=paper).fit(study.data, study.target)
    >>> model.worst_case_errors_[:3].round(3)
    array([0.187, 0.163, 0.144])
    >>> model.subset_sizes_[:3]
    array([20, 34, 41])
    """

    _name = "constraint-generation"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "initial_features": [choices.one_of(choices.InitialFeatures), "array-like"],
        "n_max": [_POSITIVE_INTEGER],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "k_max": [_POSITIVE_INTEGER, None],
        "select": [choices.one_of(choices.Select)],
        "max_seconds": _MAX_SECONDS,
    }

    def __init__(
        self,
        *,
        initial_features: choices.InitialFeatures | np.ndarray | Sequence[int] = "correlation",
        n_max: int = 100,
        epsilon: float = 1e-4,
        k_max: int | None = None,
        select: choices.Select = "in-out",
        max_seconds: float | None = None,
    ) -> None:
        self.initial_features = initial_features
        self.n_max = n_max
        self.epsilon = epsilon
        self.k_max = k_max
        self.select = select
        self.max_seconds = max_seconds

    def _own_settings(self, n_features: int) -> dict[str, Any]:
        if self.select == "as-printed" and self.k_max is None:
            raise ValueError(
                "select='as-printed' needs k_max, the largest number of iterations, as in the paper: where "
                "R^k stands still it may repeat itself for ever. Pass a k_max such as 10, or select='in-out'."
            )
        own = self.get_params(deep=False)
        own["max_iter"] = own.pop("k_max")
        return own | {"initial_features": _checked_columns(self.initial_features, n_features)}


class ConstraintAndColumnGeneration(Solver):
    r"""MRC-CCG: small linear programs, and the samples, sets of labels and features that the last violates.

    For many samples and several classes. The paper's linear program has a constraint for every sample and
    every set of labels,

    .. math::
        \min_{\mu, \nu} 1 - \tau^T \mu + \lambda^T |\mu| + \nu \quad \text{s.t.} \quad
        \frac{\sum_{y \in C} \Phi(x_i, y)^T \mu - 1}{|C|} \le \nu

    Each iteration solves it with some of the constraints and features, and adds those that the solution
    violates most; the sets of labels are found by sorting the scores. The first ones are what 40 steps of a
    first-order method suggest. The bounds are those of the best pair, as for every solver: the values of the
    programs, in which constraints are missing, are none.

    Parameters
    ----------
    epsilon_1 : float, default=1e-2
        :math:`\epsilon_1`, the violation up to which a constraint is not added. At the end
        :math:`R^* \le R^k \le R^* + \epsilon_1 + \epsilon_2 \|\mu^*\|_1`.
    epsilon_2 : float, default=1e-5
        :math:`\epsilon_2`, the violation of a dual constraint up to which its feature is not added, for
        columns at unit root mean square.
    n_max : int, default=400
        :math:`n_{\max}`, the largest numbers of constraints, one of a sample, and of features that are added
        in an iteration.
    k_max : int or None, default=200
        :math:`k_{\max}`, the largest number of iterations; None goes on until nothing is added.
    max_seconds : float or None, default=None
        The solver stops when so much time has passed, also within a linear program, as ``InteriorPoint``.

    See Also
    --------
    ConstraintGeneration : For many features.
    FullLP : All samples and features in one program.
    minimaxrisk.MinimaxRiskClassifier : Takes it as ``solver``.

    References
    ----------
    K. Bondugula, S. Mazuelas, A. Pérez, "Efficient Large-Scale Learning of Minimax Risk Classifiers", ICDM
    2025, arXiv:2511.17626.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minimaxrisk import MinimaxRiskClassifier
    >>> from minimaxrisk.solvers import ConstraintAndColumnGeneration
    >>> X, y = load_wine(return_X_y=True)
    >>> model = MinimaxRiskClassifier(solver=ConstraintAndColumnGeneration(epsilon_1=1e-4)).fit(X, y)
    >>> bool(model.optimality_gap_ < 1e-3)
    True
    """

    _name = "constraint-and-column-generation"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "epsilon_1": [Interval(Real, 0, None, closed="left")],
        "epsilon_2": [Interval(Real, 0, None, closed="left")],
        "n_max": [_POSITIVE_INTEGER],
        "k_max": [_POSITIVE_INTEGER, None],
        "max_seconds": _MAX_SECONDS,
    }

    def __init__(
        self,
        *,
        epsilon_1: float = 1e-2,
        epsilon_2: float = 1e-5,
        n_max: int = 400,
        k_max: int | None = 200,
        max_seconds: float | None = None,
    ) -> None:
        self.epsilon_1 = epsilon_1
        self.epsilon_2 = epsilon_2
        self.n_max = n_max
        self.k_max = k_max
        self.max_seconds = max_seconds

    def _own_settings(self, n_features: int) -> dict[str, Any]:
        own = self.get_params(deep=False)
        return own | {"max_iter": own.pop("k_max"), "epsilon": own.pop("epsilon_2")}


class FullLP(Solver):
    """The paper's MRC-LP: HiGHS solves one linear program with all features, which is slow for many.

    Parameters
    ----------
    max_seconds : float or None, default=None
        HiGHS stops, between two pivots, when so much time has passed, as ``InteriorPoint`` does, but the
        bounds are then those of no features at all.

    See Also
    --------
    ConstraintGeneration : The same optimum by small programs.
    minimaxrisk.MinimaxRiskClassifier : Takes it as ``solver``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from minimaxrisk import MinimaxRiskClassifier
    >>> from minimaxrisk.solvers import FullLP
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MinimaxRiskClassifier(solver=FullLP()).fit(X, y)
    >>> round(model.worst_case_error_, 4)
    0.2822
    """

    _name = "full-lp"
    _parameter_constraints: ClassVar[dict[str, Any]] = {"max_seconds": _MAX_SECONDS}

    def __init__(self, *, max_seconds: float | None = None) -> None:
        self.max_seconds = max_seconds


_CLASSES = InteriorPoint, FirstOrder, ConstraintGeneration, ConstraintAndColumnGeneration, FullLP
BY_NAME: Mapping[str, Solver] = {each._name: each() for each in _CLASSES}


def settings_of(solver: str | Solver, n_features: int) -> EngineSettings:
    """Return the engine's settings of a solver or of the name of one; other names are for the engines."""
    if isinstance(solver, str):
        if solver not in BY_NAME:
            return EngineSettings(solver)
        solver = BY_NAME[solver]
    solver._validate_params()
    return EngineSettings(solver._name, **solver._own_settings(n_features))


def _checked_columns(value: Any, n_features: int) -> Any:
    """A name as it is, or column indices as an integer array."""
    if isinstance(value, str):
        return value
    columns = np.asarray(value)
    if columns.ndim != 1 or (columns.size and columns.dtype.kind not in "iu"):
        raise ValueError(
            "initial_features must be 'correlation', 'first-order' or a 1-D array of column indices, got an "
            f"array of shape {columns.shape} and type {columns.dtype}."
        )
    outside = columns[(columns < 0) | (columns >= n_features)]
    if outside.size:
        raise ValueError(
            f"initial_features holds the column index {outside[0]}, but X has {n_features} columns "
            f"(0 to {n_features - 1})."
        )
    return columns.astype(np.intp)
