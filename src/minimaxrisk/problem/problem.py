"""The learning problem, frozen: features, coding, and the set of moments that the adversary may have.

    R* = min over mu of  1 - tau'mu + lambda'|mu| + phi(mu)

Its dual is a linear program of n(K + 1) variables, whatever the number of label subsets:

    R* = max 1 - sum_i r_i   s.t.  0 <= w_yi <= r_i,  sum w = 1,  |(C w) Psi - tau| <= lambda

It looks, among the distributions w on instances x labels whose moments agree with the estimates, for
the one with the largest Bayes error. Components of Phi are numbered b * d + j, block by block.

Bounds that need no trust in any solver: one pass over the features each, and no linear program.

Upper. For every mu and every w of the uncertainty set, ``mu'(E_w Phi - tau) >= -lambda'|mu|``, so
``value(w) <= value(w) + mu'E_w Phi - tau'mu + lambda'|mu| <= conjugate(mu) - tau'mu + lambda'|mu|``.

Lower. The centre, for the minimax risk the empirical distribution, has the moments tau exactly. Mixing any
point w of the objective's domain with it, ``w_theta = theta w + (1 - theta) centre``, shrinks every
violation by theta; with the largest theta that brings all of them inside lambda, w_theta is in the set and
its value bounds the maximum from below.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray, IntArray, stays_where_it_is
from minimaxrisk._utils.containers import as_table
from minimaxrisk._utils.dask_arrays import is_dask_array
from minimaxrisk.features.chunked import dask_features
from minimaxrisk.features.device import device_features
from minimaxrisk.features.implicit import features_of_table
from minimaxrisk.features.matrix import ClassMoments, Coding, ColumnScale, FeatureMatrix
from minimaxrisk.features.sparse import sparse_features
from minimaxrisk.problem.objective import FREE, BayesError, KnownMarginal, Marginal, Objective
from minimaxrisk.problem.rule import instance_thresholds
from minimaxrisk.samples.instances import Instances
from minimaxrisk.uncertainty.moments import MomentSample, mean_of_phi, moment_sample
from minimaxrisk.uncertainty.radius import SMALLEST_RADIUS, Radii, RadiusRule

# Moments of columns at unit root mean square are computed to about this accuracy. Without it a
# distribution exactly on the boundary would fall in or out of the set by rounding. Radii smaller than the
# smallest one of the minimax risk (penalties of the support vector machine may be) get a fraction of it.
ROUNDING = 1e-13
ROUNDING_FRACTION = 1e-6


@dataclass(frozen=True)
class Problem:
    """Everything an engine or a certificate may know about the data."""

    features: FeatureMatrix
    coding: Coding
    centre: FloatArray  # K x n, with moments tau exactly: the empirical distribution
    tau: FloatArray  # B x d
    lam: FloatArray  # B x d
    scale: ColumnScale
    marginal: Marginal = FREE

    @property
    def iterations_are_cheap(self) -> bool:
        """Whether a pass over the features takes less time than a search among the vertices nearby."""
        return False

    @property
    def objective(self) -> BayesError:
        """What the adversary of the minimax risk maximises."""
        return BayesError(self.marginal)

    @property
    def n_instances(self) -> int:
        return self.features.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Blocks and columns, of tau, lambda and the coefficients."""
        return self.coding.n_blocks, self.features.shape[1]

    @property
    def n_components(self) -> int:
        """m = B d, the length of Phi."""
        return self.shape[0] * self.shape[1]

    @property
    def tau_and_lam(self) -> tuple[Any, Any]:
        """Both where the features are: NumPy arrays, or arrays on a device."""
        return self.tau, self.lam

    @property
    def smallest_radius(self) -> float:
        return float(self.lam.min())

    def moments_of(self, distribution: FloatArray) -> FloatArray:
        """E_w Phi(x, y) for a distribution on labels x instances: one pass over the features (B x d)."""
        return self.features.correlate(self.coding.encode(distribution))

    def scores_of(self, mu: FloatArray) -> FloatArray:
        """Phi(x_i, y)' mu for every class and instance (K x n)."""
        return self.coding.scores(self.features.combine(mu))

    def penalty_of(self, mu: FloatArray) -> float:
        """``lambda'|mu| - tau'mu``."""
        return float(np.sum(self.lam * np.abs(mu)) - np.sum(self.tau * mu))

    def penalty_and_scores(self, components: IntArray, values: FloatArray) -> tuple[float, FloatArray]:
        """``penalty_of`` and ``scores_of`` coefficients that are zero but for some components."""
        mu = np.zeros(self.n_components)
        mu[components] = values
        mu = mu.reshape(self.shape)
        return self.penalty_of(mu), self.scores_of(mu)

    def share_inside(self, distribution: FloatArray, moments: FloatArray | float | None = None) -> float:
        """The largest share that a distribution may have in a mixture with the centre inside the set.

        One pass over the features, unless the moments of the distribution are given.
        """
        if moments is None:
            moments = self.moments_of(distribution)
        deviation = np.abs(moments - self.tau)
        slack = np.where(self.lam >= SMALLEST_RADIUS, ROUNDING, ROUNDING_FRACTION * self.lam)
        outside = deviation > self.lam + slack
        return float(np.min(self.lam[outside] / deviation[outside], initial=1.0))

    def threshold_of_some(self, components: IntArray, values: FloatArray) -> float:
        """The same for coefficients that are zero but for some components."""
        return self.marginal.largest_mean(instance_thresholds(self.penalty_and_scores(components, values)[1]))

    def threshold_of(self, mu: FloatArray) -> float:
        """phi(mu): the largest phi_i, or their mean where the masses of instances are known."""
        return self.marginal.largest_mean(instance_thresholds(self.scores_of(mu)))


def build_features(
    X: DataMatrix, instances: Instances, *, standardize: bool, fit_intercept: bool, copy: bool | str = "auto"
) -> tuple[FeatureMatrix, ClassMoments, ColumnScale]:
    """The scaled features of the instances, in the form that the data have."""
    if sparse.issparse(X):
        return sparse_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)
    if is_dask_array(X):
        return dask_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)
    if stays_where_it_is(X):
        return device_features(X, instances, standardize=standardize, fit_intercept=fit_intercept)
    return features_of_table(
        as_table(X), instances, standardize=standardize, fit_intercept=fit_intercept, copy=copy
    )


@singledispatch
def build_problem(
    features: FeatureMatrix,
    moments: ClassMoments,
    *,
    scale: ColumnScale,
    instances: Instances,
    coding: Coding,
    rule: RadiusRule,
    marginal_is_known: bool = False,
) -> tuple[Problem, Radii]:
    """Estimate the moments of Phi and set the confidence radii."""
    tau = mean_of_phi(moments, coding)
    sample = moment_sample(features, instances.units, coding=coding, scale=scale, moments=moments, tau=tau)
    is_empty = np.logical_not(moments.mean.any(axis=0) | moments.variance.any(axis=0))
    marginal = KnownMarginal(instances.weights) if marginal_is_known else FREE
    return problem_with_radii(features, instances, sample, is_empty, rule=rule, marginal=marginal)


def problem_with_radii(
    features: FeatureMatrix,
    instances: Instances,
    sample: MomentSample,
    is_empty: BoolArray,
    *,
    rule: RadiusRule,
    marginal: Marginal,
) -> tuple[Problem, Radii]:
    """Set the confidence radii; ``is_empty`` tells the columns of zeros."""
    radii = rule.radii(sample)
    lam = radii.lam.copy()
    # A column of zeros constrains nothing; any radius will do, and this one is not taken for a tight one.
    lam[:, is_empty] = 1.0
    return Problem(features, sample.coding, instances.p_hat, sample.tau, lam, sample.scale, marginal), radii


def upper_bound(
    problem: Problem, objective: Objective, mu: FloatArray, scores: FloatArray | None = None
) -> float:
    """U(mu) over the whole uncertainty set, from ``scores = problem.scores_of(mu)`` where they are known."""
    if scores is None:
        scores = problem.scores_of(mu)
    return problem.penalty_of(mu) + objective.conjugate(scores)


def upper_bound_of_some(
    problem: Problem, objective: Objective, components: IntArray, values: FloatArray
) -> float:
    """U of the coefficients that are ``values`` at some components and zero elsewhere."""
    penalty, scores = problem.penalty_and_scores(components, values)
    return penalty + objective.conjugate(scores)


@dataclass(frozen=True)
class FeasiblePoint:
    """A distribution inside the uncertainty set and the lower bound that it proves."""

    distribution: FloatArray
    bound: float


def lower_bound(
    problem: Problem,
    objective: Objective,
    distribution: FloatArray,
    moments: FloatArray | float | None = None,
) -> FeasiblePoint:
    """L(w), from ``moments = problem.moments_of(distribution)`` where they are known already."""
    theta = problem.share_inside(distribution, moments)
    mixed = theta * distribution + (1.0 - theta) * problem.centre
    return FeasiblePoint(mixed, objective.value(mixed))
