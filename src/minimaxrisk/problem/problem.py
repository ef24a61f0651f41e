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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from minimaxrisk._utils.arrays import (
    DataMatrix,
    FloatArray,
    IntArray,
    asarray_like,
    is_foreign,
    namespace_of,
    stays_where_it_is,
    to_numpy,
)
from minimaxrisk._utils.containers import as_table
from minimaxrisk._utils.dask_arrays import is_dask_array
from minimaxrisk.features.chunked import dask_features
from minimaxrisk.features.dense import features_of_table
from minimaxrisk.features.device import device_features
from minimaxrisk.features.matrix import ClassMoments, Coding, ColumnScale, FeatureMatrix
from minimaxrisk.features.sparse import sparse_features
from minimaxrisk.problem.objective import FREE, BayesError, KnownMarginal, Marginal, Objective
from minimaxrisk.problem.rule import instance_thresholds
from minimaxrisk.samples.instances import Instances
from minimaxrisk.uncertainty.moments import MomentSample, mean_of_phi, moment_sample, signed_moments
from minimaxrisk.uncertainty.radius import SMALLEST_RADIUS, Radii, RadiusRule

# Moments of columns at unit root mean square are computed to about this accuracy. Without it a
# distribution exactly on the boundary would fall in or out of the set by rounding. Radii smaller than the
# smallest one of the minimax risk (penalties of the support vector machine may be) get a fraction of it.
ROUNDING = 1e-13
ROUNDING_FRACTION = 1e-6


@dataclass(frozen=True)
class Problem:
    """Everything an engine or a certificate may know about the data.

    The vectors of the moments are where the features are, on a device for example, and so are reductions over
    them. An engine that knows NumPy alone asks for ``tau`` and ``lam``, which copies them once.
    """

    features: FeatureMatrix
    coding: Coding
    centre: FloatArray  # K x n, with moments tau exactly: the empirical distribution
    tau_there: Any  # B x d
    lam_there: Any  # B x d
    scale: ColumnScale
    marginal: Marginal = FREE

    @cached_property
    def tau(self) -> FloatArray:
        return to_numpy(self.tau_there)

    @cached_property
    def lam(self) -> FloatArray:
        return to_numpy(self.lam_there)

    def with_radii(self, lam: FloatArray) -> Problem:
        """The same problem with other radii."""
        return replace(self, lam_there=asarray_like(self.tau_there, lam))

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
    def smallest_radius(self) -> float:
        return float(namespace_of(self.lam_there).min(self.lam_there))

    def moments_of(self, distribution: FloatArray) -> FloatArray:
        """E_w Phi(x, y) for a distribution on labels x instances: one pass over the features (B x d)."""
        return self.features.correlate(self.coding.encode(distribution))

    def scores_of(self, mu: FloatArray) -> FloatArray:
        """Phi(x_i, y)' mu for every class and instance (K x n)."""
        return self.coding.scores(self.features.combine(mu))

    def penalty_of(self, mu: FloatArray) -> float:
        """``lambda'|mu| - tau'mu``."""
        if is_foreign(self.lam_there):
            components = np.flatnonzero(mu)
            return self._penalty_of_some(components, mu.ravel()[components])
        return float(np.sum(self.lam * np.abs(mu)) - np.sum(self.tau * mu))

    def _penalty_of_some(self, components: IntArray, values: FloatArray) -> float:
        """From the entries of lambda and tau that count."""
        lam, tau = self.at(components, self.lam_there, self.tau_there)
        return float(lam @ np.abs(values) - tau @ values)

    def penalty_and_scores(self, components: IntArray, values: FloatArray) -> tuple[float, FloatArray]:
        """``penalty_of`` and ``scores_of`` coefficients that are zero but for some components."""
        if is_foreign(self.lam_there):
            n_blocks, d = self.shape
            columns, place = np.unique(components % d, return_inverse=True)
            coefficients = np.zeros((n_blocks, len(columns)))
            coefficients[components // d, place] = values
            scores = self.coding.scores(self.features.combine_some(columns, coefficients))
            return self._penalty_of_some(components, values), scores
        mu = np.zeros(self.n_components)
        mu[components] = values
        mu = mu.reshape(self.shape)
        return self.penalty_of(mu), self.scores_of(mu)

    def at(self, components: IntArray, *vectors: Any) -> FloatArray:
        """Entries of vectors where the features are (B x d or their length), copied together."""
        xp, place = namespace_of(vectors[0]), asarray_like(vectors[0], components)
        return to_numpy(xp.stack([xp.take(xp.reshape(vector, (-1,)), place) for vector in vectors]))

    def share_inside(self, distribution: FloatArray, moments: FloatArray | float | None = None) -> float:
        """The largest share that a distribution may have in a mixture with the centre inside the set.

        One pass over the features, unless the moments of the distribution are given.
        """
        tau, lam = self.tau_there, self.lam_there
        if moments is None:
            moments = self.features.correlate_there(self.coding.encode(distribution))
        else:
            moments = asarray_like(tau, np.asarray(moments))
        xp = namespace_of(lam)
        deviation = xp.abs(moments - tau)
        slack = xp.where(lam >= SMALLEST_RADIUS, ROUNDING, ROUNDING_FRACTION * lam)
        outside = deviation > lam + slack
        return float(xp.min(xp.where(outside, lam, 1.0) / xp.where(outside, deviation, 1.0)))

    def threshold_of(self, mu: FloatArray) -> float:
        """phi(mu): the largest phi_i, or their mean where the masses of instances are known."""
        return self.marginal.largest_mean(instance_thresholds(self.scores_of(mu)))

    def threshold_of_some(self, components: IntArray, values: FloatArray) -> float:
        """phi of coefficients that are zero but for some components."""
        return self.marginal.largest_mean(instance_thresholds(self.penalty_and_scores(components, values)[1]))


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
    is_zero = (moments.mean == 0.0) & (moments.variance == 0.0)
    is_empty = namespace_of(is_zero).all(is_zero, axis=0)
    marginal = KnownMarginal(instances.weights) if marginal_is_known else FREE
    return problem_with_radii(features, instances, sample, is_empty, rule=rule, marginal=marginal)


def relabelled_signed(
    old: Problem, mass: FloatArray, instances: Sequence[Instances], rule: RadiusRule
) -> list[tuple[Problem, Radii]]:
    """Problems with other labels of instances with the same mass, in two passes for all.

    Moments per class are taken only if the rule asks for them; see ``signed_moments``.
    """
    taus, sigmas = signed_moments(old.features, mass, [each.p_hat for each in instances], old.coding)
    is_empty, posed = (taus == 0.0) & (sigmas == 0.0), []
    for i, each in enumerate(instances):
        tau, sigma = taus[i, :, :], sigmas[i, :, :]
        sample = MomentSample(old.features, each.units, old.coding, old.scale, tau, sigma)
        posed.append(
            problem_with_radii(
                old.features, each, sample, is_empty[i, :, :], rule=rule, marginal=old.marginal
            )
        )
    return posed


def problem_with_radii(
    features: FeatureMatrix,
    instances: Instances,
    sample: MomentSample,
    is_empty: Any,
    *,
    rule: RadiusRule,
    marginal: Marginal,
) -> tuple[Problem, Radii]:
    """Set the confidence radii; ``is_empty`` tells the columns of zeros."""
    radii, tau = rule.radii(sample), sample.tau_there
    lam = asarray_like(tau, radii.lam) if not is_foreign(radii.lam) else radii.lam
    # A column of zeros constrains nothing. This radius is not mistaken for a tight one.
    lam = namespace_of(tau).where(is_empty, 1.0, lam)
    return Problem(features, sample.coding, instances.p_hat, tau, lam, sample.scale, marginal), radii


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
