"""One adapter of one signature per rival: raw X and labels in, what was reached out.

Whatever a rival needs between the raw X and its answer happens inside ``fit`` and so inside the clock. The
rivals' packages, scikit-learn among them, are imported where they are used: not every environment has them,
MRCpy lives in one of its own, in which this module is imported as well, and who refuses needs none.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from experiments.harness.child import ROOT
from experiments.rivals.full_lp import solve_full_lp


class RefusedError(Exception):
    """The rival does not take this problem (a licence, a kind of input); the message says why."""


@dataclass(frozen=True)
class Fitted:
    """What one fit reached; None where a rival does not say."""

    predict: Callable[[Any], np.ndarray]
    n_selected: int
    worst_case_error: float | None = None
    gap: float | None = None
    n_passes: int | None = None
    n_iter: int | None = None
    converged: bool | None = None
    objective: Callable[[], float] | None = None  # the value that was minimised, computed off the clock


@dataclass(frozen=True)
class Rival:
    """A rival: its adapter, the module it needs and the interpreter of the environment that has it."""

    name: str
    fit: Callable[[Any, np.ndarray], Fitted]
    module: str
    interpreter: Callable[[], str] = lambda: sys.executable

    def missing(self) -> str | None:
        """Why the rival cannot run here, or None if it can."""
        if self.interpreter() != sys.executable:
            if not Path(self.interpreter()).exists():
                return "its environment is not there; experiments/rivals/make_mrcpy_env.sh makes it"
        elif find_spec(self.module) is None:
            return f"{self.module} is not installed; the group 'bench' brings it"
        return None


def _minimaxrisk(solver: str) -> Callable[[Any, np.ndarray], Fitted]:
    def fit(X: Any, y: np.ndarray) -> Fitted:
        from minimaxrisk import MinimaxRiskClassifier  # noqa: PLC0415

        # Ignored and not retyped: results know this module by all but its comments.
        # The problem that the other solvers solve has plain standard errors.
        model = MinimaxRiskClassifier(solver=solver, moderation=0.0).fit(X, y)  # type: ignore[arg-type]
        return Fitted(
            predict=model.predict,
            n_selected=model.n_features_selected_,
            worst_case_error=model.worst_case_error_,
            gap=model.optimality_gap_,
            n_passes=model.n_passes_,
            n_iter=model.n_iter_,
            converged=model.converged_,
        )

    return fit


def _highs_full_lp(X: Any, y: np.ndarray) -> Fitted:
    scaler = _scaler(X)
    solution = solve_full_lp(scaler.fit_transform(X.astype(np.float64)), y)

    def predict(new: Any) -> np.ndarray:
        return np.asarray(solution.classes[solution.scores(scaler.transform(new)).argmax(axis=1)])

    return Fitted(
        predict=predict,
        n_selected=_n_columns(solution.mu[:, 1:]),
        worst_case_error=solution.worst_case_error,
        n_iter=solution.n_iter,
        converged=True,
    )


def _mrcpy(X: Any, y: np.ndarray) -> Fitted:
    if sparse.issparse(X):
        raise RefusedError("no sparse input")
    from MRCpy import MRC  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    scaler = StandardScaler()
    model = MRC(loss="0-1", solver="cg", s=1, phi="linear", n_max=100, k_max=100, eps1=1e-4)
    try:
        model.fit(scaler.fit_transform(X.astype(np.float64)), y)
    except Exception as error:
        # Gurobi's own class of error; there is no number to tell this one by.
        if "size-limited" in str(error):
            raise RefusedError("licence size") from error
        raise
    return Fitted(
        predict=lambda new: np.asarray(model.predict(scaler.transform(new.astype(np.float64)))),
        n_selected=_n_columns(model.mu_[:, 1:]),
        worst_case_error=float(model.upper_),
    )


def l1_learner(
    make_learner: Callable[[int, int], Any],
    *,
    by_columns: bool = False,
    objective: Callable[[Any, Any, np.ndarray], float] | None = None,
) -> Callable[[Any, np.ndarray], Fitted]:
    """An adapter around a scikit-learn estimator, which ``make_learner(n_samples, n_classes)`` makes.

    ``by_columns`` is for learners that read X column by column and are faster if it is stored so;
    ``objective`` tells what the learner has made small, from it, its scaled columns and the labels.
    """

    def fit(X: Any, y: np.ndarray) -> Fitted:
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415

        if by_columns:
            X = X.tocsc() if sparse.issparse(X) else np.asfortranarray(X)
        learner = make_learner(len(y), len(np.unique(y)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = make_pipeline(_scaler(X), learner).fit(X, y)
        parts = getattr(learner, "estimators_", [learner])
        return Fitted(
            predict=model.predict,
            n_selected=_n_columns(np.vstack([part.coef_ for part in parts])),
            n_iter=int(max(np.max(part.n_iter_) for part in parts)),
            converged=not any(issubclass(warning.category, ConvergenceWarning) for warning in caught),
            objective=None if objective is None else lambda: objective(learner, model[:-1].transform(X), y),
        )

    return fit


def _linear_svm(max_iter: int, tol: float = 1e-4) -> Callable[[Any, np.ndarray], Fitted]:
    def make(n_samples: int, n_classes: int) -> Any:
        from sklearn.svm import LinearSVC  # noqa: PLC0415

        return LinearSVC(penalty="l1", dual=False, max_iter=max_iter, tol=tol, random_state=0)

    return l1_learner(make, objective=_svm_objective)


def _svm_objective(learner: Any, Z: Any, y: np.ndarray) -> float:
    """Absolute coefficients, intercepts among them, and squared hinge losses (C = 1), over all classes."""
    signs = np.where(y[:, None] == learner.classes_, 1.0, -1.0)
    signs = signs[:, -len(learner.coef_) :]  # of two classes the second has the coefficients
    slack = np.maximum(1.0 - signs * (Z @ learner.coef_.T + learner.intercept_), 0.0)
    return float(np.abs(learner.coef_).sum() + np.abs(learner.intercept_).sum() + np.sum(slack**2))


def _logistic_regression(n_samples: int, n_classes: int) -> Any:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    return one_vs_rest(LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0), n_classes)


def _skglm(n_samples: int, n_classes: int) -> Any:
    from skglm import SparseLogisticRegression  # noqa: PLC0415

    # 1/n is scikit-learn's C = 1, so that this is the problem of the logistic regression above.
    return one_vs_rest(SparseLogisticRegression(alpha=1.0 / n_samples), n_classes)


def one_vs_rest(learner: Any, n_classes: int) -> Any:
    from sklearn.multiclass import OneVsRestClassifier  # noqa: PLC0415

    return learner if n_classes == 2 else OneVsRestClassifier(learner)


def _scaler(X: Any) -> Any:
    """scikit-learn's scaling; a sparse X stays sparse and so is not centred."""
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    return StandardScaler(with_mean=not sparse.issparse(X))


def _n_columns(coefficients: np.ndarray) -> int:
    return int(np.count_nonzero(np.any(coefficients != 0, axis=0)))


def mrcpy_interpreter() -> str:
    """Python of the environment that ``make_mrcpy_env.sh`` makes."""
    return str(ROOT / os.environ.get("MRCPY_VENV", ".venv-mrcpy") / "bin" / "python")


_ALL = (
    Rival("auto", _minimaxrisk("auto"), "minimaxrisk"),
    Rival("first-order", _minimaxrisk("first-order"), "minimaxrisk"),
    Rival("constraint-generation", _minimaxrisk("constraint-generation"), "minimaxrisk"),
    Rival("full-lp", _minimaxrisk("full-lp"), "minimaxrisk"),
    # The same problem, other software.
    Rival("highs-full-lp", _highs_full_lp, "scipy"),
    Rival("mrcpy-gurobi", _mrcpy, "MRCpy", mrcpy_interpreter),
    # Other L1 problems. With its default of 1000 iterations the first one often stops before it converges; at
    # its default tolerance the second one ends some 1e-4 above its optimum, with other columns.
    Rival("liblinear-svm", _linear_svm(1000), "sklearn"),
    Rival("liblinear-svm-converged", _linear_svm(1_000_000), "sklearn"),
    Rival("liblinear-svm-tight", _linear_svm(100_000_000, tol=1e-6), "sklearn"),
    Rival("liblinear-logistic", l1_learner(_logistic_regression), "sklearn"),
    Rival("skglm-logistic", l1_learner(_skglm, by_columns=True), "skglm"),
)
RIVALS = {rival.name: rival for rival in _ALL}
