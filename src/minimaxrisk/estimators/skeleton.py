"""The fit that all classifiers share: check, pose, solve, store, warn."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from minimaxrisk._utils.arrays import IntArray, stays_where_it_is
from minimaxrisk._utils.dask_arrays import is_dask_array
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk._utils.interrupts import held_back
from minimaxrisk._utils.notices import is_silenced, one_warning, warn
from minimaxrisk.engines.solution import Monitor, Solution
from minimaxrisk.estimators.fit_support import (
    CURVED,
    make_monitor,
    radius_seed_of,
    start_over,
    warn_about_far_columns,
    warn_about_lost_classes,
    warn_about_radius,
    warn_about_single_samples,
)
from minimaxrisk.estimators.prediction import PredictionMixin, predicted_labels
from minimaxrisk.exceptions import UnderfitWarning
from minimaxrisk.guarantees.certified import DASK, ELSEWHERE, Certified, can
from minimaxrisk.guarantees.fitted_problem import coverage_of, data_for_fit
from minimaxrisk.problem.sets import Posed
from minimaxrisk.samples.validation import TrainingData


class CertifiedClassifier(PredictionMixin, BaseEstimator, Certified):
    """A minimax risk classifier whose ``fit`` is the skeleton; it fills in how to solve and store.

    Its bounds are over an uncertainty set, which it describes, and warnings tell what the radii and the
    solver do not reach.
    """

    def _parameters_of_fit(self) -> Any:
        """Before and during a fit: the estimator, not fitted, whose parameters say what is to be solved.

        ``_parameters_of_set`` is its counterpart after the fit.
        """
        return self

    def _check(self, data: TrainingData, checked: Any, parameters: Any) -> None:
        """Refuse what cannot be solved, and warn before long work."""

    def _posed(self, data: TrainingData, parameters: Any) -> Posed:
        """The problem of the data."""
        rule = self._set_kind.radius_rule(parameters, radius_seed_of(parameters))
        return self._set_kind.pose(parameters, data, rule)

    def _solved(self, posed: Any, data: TrainingData, parameters: Any, monitor: Monitor) -> Any:
        raise NotImplementedError

    def _store(self, posed: Any, data: TrainingData, solved: Any, parameters: Any) -> IntArray | None:
        """Returns the position of the class that each row of X gets, unless that needs another look at X."""
        raise NotImplementedError

    def _warn(self, posed: Any, data: TrainingData, solved: Any) -> None:
        """Say what the caller should know about the outcome."""
        warn_about_single_samples(data)
        warn_about_far_columns(self, posed.columns_far_from_zero(self._fitted_rule()))
        if self._has_proof:
            warn_about_radius(self._parameters_of_set(), data, posed.radii)
        if solved.remark:
            warn(f"{solved.remark}.", ConvergenceWarning)

    _curved = CURVED
    # Said behind parameters in advice: those of an ensemble's ``estimator``, which its members have.
    _whose: ClassVar[str] = ""

    def _remedies(self, data: TrainingData, parameters: Any) -> list[str]:
        """What to try where a class is lost, the best first."""
        if isinstance(parameters.radius, str):  # a set that covers leaves little to learn from few samples
            return ["more samples", f"a number as radius{self._whose}"]
        curved = [self._curved] if self.n_features_in_ < len(data.labels) else []
        known = [f"marginal='empirical'{self._whose}"] if parameters.marginal == "free" else []
        return [*curved, *known, f"a smaller radius{self._whose}"]

    @one_warning()
    def _learn(self, X: Any, y: Any, **more: Any) -> Self:
        """What ``fit`` does with its arguments."""
        # 1) check. Validation stores the columns; on a copy, so that a failed fit leaves the old model whole.
        refuse_container(self, X)
        parameters, checked = self._parameters_of_fit(), copy(self)
        data = data_for_fit(checked, parameters, X, y, **more)
        self._check(data, checked, parameters)
        monitor = make_monitor(getattr(self, "callback", None), is_logged=bool(self.verbose))
        with suitable_threads(len(data.labels)):
            # 2) pose
            posed = self._posed(data, parameters)
            # 3) solve. Solvers let interrupts through while they work, and what they have found is stored.
            with held_back():
                solved = self._solved(posed, data, parameters, monitor)
                # 4) store
                start_over(self, checked)
                self.classes_ = data.classes
                predicted = self._store(posed, data, solved, parameters)
            if solved.interrupted:
                raise KeyboardInterrupt
            # 5) warn
            if not is_silenced(UnderfitWarning):
                if predicted is None:
                    predicted = predicted_labels(self._deciding_rule(), np.arange(len(data.classes)), data.X)
                warn_about_lost_classes(data, predicted, self._remedies(data, parameters), self._whose)
            self._warn(posed, data, solved)
        return self

    def _store_set(self, posed: Posed, parameters: Any) -> None:
        """What the uncertainty set is."""
        self.radius_, self.coverage_remarks_ = posed.radii.factor, posed.radii.remarks
        self.coverage_ = coverage_of(parameters)
        self.radius_seed_ = posed.radii.seed
        self.coding_ = posed.problem.coding.name

    def _store_bounds(self, posed: Posed, solved: Any) -> None:
        """The certified pair."""
        self.worst_case_error_ = min(1.0, solved.upper)
        # At the optimum the two meet, and rounding could put the lower one on top by 1e-16.
        self.worst_case_error_lower_ = min(solved.lower, self.worst_case_error_)
        self.optimality_gap_ = self.worst_case_error_ - self.worst_case_error_lower_
        self.worst_case_distribution_ = posed.instances.to_rows(solved.distribution)

    def _store_history(self, solved: Solution) -> None:
        """What the solver did."""
        self.solver_, self.converged_ = solved.solver, solved.converged
        self.n_iter_ = solved.history[-1]["iteration"] if solved.history else 0
        self.history_ = list(solved.history)


def refuse_container(estimator: Any, X: Any) -> None:
    """Refuse data in a form that the estimator does not take."""
    forms = (
        ("a dask array", DASK, is_dask_array),
        ("an array of another library", ELSEWHERE, stays_where_it_is),
    )
    for form, capability, is_such in forms:
        if is_such(X) and not can(estimator, capability):
            raise TypeError(
                f"{type(estimator).__name__} works on arrays and sparse matrices in memory, got {form}; "
                f"{capability.instead}."
            )
