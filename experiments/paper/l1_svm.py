"""SVM-CG: the L1 support vector machine by column generation, which the paper compares MRC-CG with.

    min over beta, b of  sum_i c_i (1 - y_i (x_i'beta + b))_+ + alpha |beta|_1

is a linear program (A. Dedieu, R. Mazumder, H. Wang, "Solving L1-regularized SVMs and Related Linear
Programs: Revisiting the Effectiveness of Column and Constraint Generation", JMLR 23, 2022). As for MRC-CG,
HiGHS gets the dual, in which the columns of X are constraints that come one after the other:

    max sum pi   s.t.  0 <= pi <= c,  sum_i y_i pi_i = 0,  |sum_i y_i pi_i x_ij| <= alpha

All samples take part from the start, because there are few of them. The columns of X are standardised.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk._utils.environment import suitable_threads
from minimaxrisk.engines.generation import first_by
from minimaxrisk.engines.highs import SMALLEST_TOLERANCE, RangeProgram
from minimaxrisk.matrices.scale import TINY
from minimaxrisk.matrices.scaling import features_of
from minimaxrisk.matrices.standardised import Standardised, squared_norm
from minimaxrisk.samples.instances import distinct_instances
from minimaxrisk.samples.validation import check_training_data

# The penalty, as a fraction of ``max_j sum_i |x_ij|``, at which no column is selected.
PENALTY_FRACTION = 0.01
# Of the first-order method that chooses the first columns, as for MRC-CG.
TEMPERATURE, N_STEPS = 0.05, 30
# Coefficients up to this size are rounding of HiGHS.
NEGLIGIBLE = 1e-10
# What rounding may leave of the certified gap, as a fraction of the objective.
SMALLEST_GAP = 1e-6


class L1SVM:
    """The machine, with more than two classes one against the rest.

    ``n_max`` columns enter at a time, and ``epsilon`` is the violation up to which none does, as a fraction
    of the penalty.
    """

    def __init__(self, *, n_max: int = 100, epsilon: float = 1e-4) -> None:
        self.n_max = n_max
        self.epsilon = epsilon

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the coefficients, and prove by the dual how far from the smallest objective they are."""
        data = check_training_data(BaseEstimator(), X, y)
        with suitable_threads(len(data.labels)):
            instances = distinct_instances(data)
            features, _, scale = features_of(
                data.X, instances.rows, instances.p_hat, standardize=True, fit_intercept=False
            )
            weights = instances.total_weight * instances.p_hat
            self.alpha_ = PENALTY_FRACTION * float(features.means_of(abs, weights.sum(axis=0)[None]).max())
            positive = range(1, 2) if len(data.classes) == 2 else range(len(data.classes))
            machines = [
                generate_columns(features, Sample.against_the_rest(weights, k), self.alpha_, self)
                for k in positive
            ]
        self.classes_ = data.classes
        columns, coef, intercept = scale.to_original(np.vstack([each.beta for each in machines]))
        self.coef_ = np.zeros((len(machines), scale.n_columns))
        self.coef_[:, columns] = coef
        self.intercept_ = intercept + np.array([each.intercept for each in machines])
        self.selected_features_, self.n_features_selected_ = columns, len(columns)
        self.objective_ = sum(each.upper for each in machines)
        self.objective_lower_ = sum(each.lower for each in machines)
        self.optimality_gap_ = self.objective_ - self.objective_lower_
        self.converged_ = self.optimality_gap_ <= max(self.epsilon, SMALLEST_GAP) * self.objective_
        self.n_iter_ = sum(each.n_programs for each in machines)
        self.n_passes_ = 1 + features.n_passes  # the first one scales
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The label with the largest score."""
        scores = X @ self.coef_.T + self.intercept_
        best = scores[:, 0] > 0.0 if len(self.classes_) == 2 else scores.argmax(axis=1)
        return self.classes_[best.astype(np.intp)]


class Sample(NamedTuple):
    """Of each instance and label that there is: the instance, the sign y and the weight c."""

    instance: IntArray
    sign: FloatArray
    weight: FloatArray

    @classmethod
    def against_the_rest(cls, weights: FloatArray, k: int) -> Sample:
        of_side = np.stack([np.delete(weights, k, axis=0).sum(axis=0), weights[k]])
        side, instance = np.nonzero(of_side)
        return cls(instance, np.where(side == 1, 1.0, -1.0), of_side[side, instance])

    def products(self, features: Standardised, pi: FloatArray) -> FloatArray:
        """``sum_i y_i pi_i x_ij`` for every column."""
        signed = np.zeros(features.shape[0])
        np.add.at(signed, self.instance, self.sign * pi)
        return features.correlate(signed[None])[0]

    def shortfalls(self, features: Standardised, beta: FloatArray, intercept: float) -> FloatArray:
        """``1 - y_i (x_i'beta + b)``."""
        return 1.0 - self.sign * (features.combine(beta[None])[0, self.instance] + intercept)


class Machine(NamedTuple):
    """Coefficients of the standardised columns, with bounds on the smallest objective that there is."""

    beta: FloatArray
    intercept: float
    upper: float
    lower: float
    n_programs: int


def generate_columns(features: Standardised, sample: Sample, alpha: float, settings: L1SVM) -> Machine:
    """Solve with some columns, add those whose constraint is violated most, until none is."""
    sign, weight = sample.sign, sample.weight
    columns, incoming = np.empty(0, dtype=np.intp), first_columns(features, sample, alpha, settings.n_max)
    lower, n_programs = 0.0, 0
    program = RangeProgram(
        -np.ones_like(weight),
        sparse.csr_array(sign[None]),
        lower=np.zeros(1),
        upper=np.zeros(1),
        most=weight,
        n_free=0,
        feasibility_tolerance=max(SMALLEST_TOLERANCE, min(1e-7, 0.1 * settings.epsilon * alpha)),
    )
    with closing(program):
        while len(incoming) > 0 or n_programs == 0:
            # 1) Add columns and solve, hot from the last basis.
            # What a column of sparse data is shifted by cancels out, because the classes are balanced.
            values, _ = features.shifted_columns(incoming)
            rows = sparse.csr_array(values.tocsr()[sample.instance].T * sign)
            width = np.full(len(incoming), alpha)
            program.add_rows(rows, -width, width)
            columns = np.concatenate([columns, incoming])
            found, n_programs = program.solve(), n_programs + 1
            # 2) Bound: a dual solution that is brought back into its bounds and shrunk proves the lower one.
            pi = np.clip(found.columns, 0.0, weight)
            of_sides = np.where(sign > 0.0, pi[sign > 0.0].sum(), pi[sign < 0.0].sum())
            pi *= of_sides.min() / np.maximum(of_sides, TINY)
            violation = np.abs(sample.products(features, pi)) - alpha
            lower = max(lower, float(pi.sum()) * alpha / (alpha + max(0.0, float(violation.max()))))
            # 3) Look for columns that the solution violates.
            violated = violation > settings.epsilon * alpha
            violated[columns] = False
            incoming = first_by(settings.n_max, np.flatnonzero(violated), -violation)
    beta, duals = np.zeros(features.shape[1]), found.added_row_duals
    beta[columns] = np.where(found.added_row_is_basic | (np.abs(duals) <= NEGLIGIBLE), 0.0, -duals)
    intercept = float(features.shifted_columns(columns)[1] @ beta[columns] - found.fixed_row_duals[0])
    losses = np.maximum(sample.shortfalls(features, beta, intercept), 0.0)
    upper = float(weight @ losses + alpha * np.abs(beta).sum())
    return Machine(beta, intercept, upper, min(lower, upper), n_programs)


def first_columns(features: Standardised, sample: Sample, alpha: float, n_max: int) -> IntArray:
    """The largest coefficients after some accelerated proximal gradient steps on a smoothed hinge loss.

    Where fewer than ``n_max`` are not zero, the largest violations fill up.
    """
    n, d = features.shape
    square = squared_norm(features, np.linspace(1.0, 2.0, n)[None], 5) + n
    step = TEMPERATURE / (square * sample.weight.max())
    # The intercept goes last, behind the coefficients, and has no penalty.
    penalty = np.append(np.full(d, alpha), 0.0)
    point = previous = momentum = np.zeros(d + 1)
    t = 1.0
    for _ in range(N_STEPS):
        shortfalls = sample.shortfalls(features, momentum[:d], float(momentum[d]))
        pi = sample.weight * np.clip(shortfalls / TEMPERATURE, 0.0, 1.0)
        products = np.append(sample.products(features, pi), sample.sign @ pi)
        target = momentum + step * products
        point = np.sign(target) * np.maximum(np.abs(target) - step * penalty, 0.0)
        t_next = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        momentum = point + (t - 1.0) / t_next * (point - previous)
        previous, t = point, t_next
    return np.sort(np.lexsort((-np.abs(products[:d]), -np.abs(point[:d])))[:n_max])
