"""The learning problem, frozen: features, coding, and the set of moments that the adversary may have.

    R* = min over mu of  1 - tau'mu + lambda'|mu| + phi(mu)

Its dual is a linear program of n(K + 1) variables, whatever the number of label subsets:

    R* = max 1 - sum_i r_i   s.t.  0 <= w_yi <= r_i,  sum w = 1,  |(C w) Psi - tau| <= lambda

It looks, among the distributions w on instances x labels whose moments agree with the estimates, for
the one with the largest Bayes error. Components of Phi are numbered b * d + j, block by block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import BoolArray, DataMatrix, FloatArray
from minimaxrisk._utils.dask_arrays import is_dask_array
from minimaxrisk._utils.table import as_table
from minimaxrisk.features.class_moments import ClassMoments
from minimaxrisk.features.coding import Coding
from minimaxrisk.features.copying import features_of_table
from minimaxrisk.features.dask_features import dask_features
from minimaxrisk.features.matrix import ColumnScale, FeatureMatrix
from minimaxrisk.features.sparse import sparse_features
from minimaxrisk.problem.marginal import FREE, KnownMarginal, Marginal
from minimaxrisk.problem.objective import BayesError
from minimaxrisk.problem.rule import instance_thresholds
from minimaxrisk.samples.instances import Instances
from minimaxrisk.uncertainty.moments import mean_of_phi
from minimaxrisk.uncertainty.radius import MomentSample, Radii, RadiusRule, moment_sample


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
    def objective(self) -> BayesError:
        """What the adversary of the minimax risk maximises."""
        return BayesError(self.marginal)

    @property
    def n_instances(self) -> int:
        return self.features.shape[0]

    @property
    def n_components(self) -> int:
        """m = B d, the length of Phi."""
        return int(self.tau.size)

    def moments_of(self, distribution: FloatArray) -> FloatArray:
        """E_w Phi(x, y) for a distribution on labels x instances: one pass over the features (B x d)."""
        return self.features.correlate(self.coding.encode(distribution))

    def scores_of(self, mu: FloatArray) -> FloatArray:
        """Phi(x_i, y)' mu for every class and instance (K x n)."""
        return self.coding.scores(self.features.combine(mu))

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
    return features_of_table(
        as_table(X), instances, standardize=standardize, fit_intercept=fit_intercept, copy=copy
    )


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
