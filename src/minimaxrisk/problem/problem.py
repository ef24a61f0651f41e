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

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray, asarray_like, entries_at, namespace_of, to_numpy
from minimaxrisk.matrices.moments import Coding
from minimaxrisk.matrices.scale import ColumnScale
from minimaxrisk.matrices.standardised import Standardised
from minimaxrisk.problem.objective import FREE, BayesError, Marginal, Objective
from minimaxrisk.problem.rule import instance_thresholds

if TYPE_CHECKING:
    from minimaxrisk.problem.ball import Ball

# Moments of columns at unit root mean square are computed to about this accuracy. Without it a
# distribution exactly on the boundary would fall in or out of the set by rounding. It is little beside the
# smallest radius.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Box:
    """The problem with a box of means: all that an engine or a certificate may know about the data.

    The vectors of the moments are where the features are, on a device for example, and so are reductions over
    them. An engine that knows NumPy alone asks for ``tau`` and ``lam``, which copies them once.
    """

    features: Standardised
    coding: Coding
    centre: FloatArray  # K x n, with moments tau exactly: the empirical distribution
    tau_on_device: Any  # B x d
    lam_on_device: Any  # B x d
    scale: ColumnScale
    marginal: Marginal = FREE

    @cached_property
    def tau(self) -> FloatArray:
        return to_numpy(self.tau_on_device)

    @cached_property
    def lam(self) -> FloatArray:
        return to_numpy(self.lam_on_device)

    def with_radii(self, lam: FloatArray) -> Box:
        """The same problem with other radii."""
        return replace(self, lam_on_device=asarray_like(self.tau_on_device, lam))

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
        return float(namespace_of(self.lam_on_device).min(self.lam_on_device))

    def moments_of(self, distribution: FloatArray) -> FloatArray:
        """E_w Phi(x, y) for a distribution on labels x instances: one pass over the features (B x d)."""
        return self.features.correlate(self.coding.encode(distribution))

    def scores_of(self, mu: FloatArray) -> FloatArray:
        """Phi(x_i, y)' mu for every class and instance (K x n)."""
        return self.coding.scores(self.features.combine(mu))

    def penalty_of(self, mu: FloatArray) -> float:
        """``lambda'|mu| - tau'mu``."""
        components = np.flatnonzero(mu)
        return self._penalty_of_some(components, mu.ravel()[components])

    def _penalty_of_some(self, components: IntArray, values: FloatArray) -> float:
        """From the entries of lambda and tau that count: not all of them need be looked at."""
        lam, tau = entries_at(components, self.lam_on_device, self.tau_on_device)
        return float(lam @ np.abs(values) - tau @ values)

    def penalty_and_scores(self, components: IntArray, values: FloatArray) -> tuple[float, FloatArray]:
        """``penalty_of`` and ``scores_of`` coefficients that are zero but for some components."""
        n_blocks, d = self.shape
        if len(components) == 0:
            return 0.0, np.zeros_like(self.centre)
        columns, coefficients = components, values[None, :]
        # A component that is named twice has the sum of its values.
        if n_blocks > 1 or not (components[1:] > components[:-1]).all():
            columns, place = np.unique(components % d, return_inverse=True)
            coefficients = np.zeros((n_blocks, len(columns)))
            np.add.at(coefficients, (components // d, place), values)
        scores = self.coding.scores(self.features.combine_some(columns, coefficients))
        return self._penalty_of_some(components, values), scores

    def share_inside(self, distribution: FloatArray, moments: FloatArray | float | None = None) -> float:
        """The largest share that a distribution may have in a mixture with the centre inside the set.

        One pass over the features, unless the moments of the distribution are given.
        """
        tau, lam = self.tau_on_device, self.lam_on_device
        if moments is None:
            moments = self.features.correlate_on_device(self.coding.encode(distribution))
        else:
            moments = asarray_like(tau, np.asarray(moments))
        xp = namespace_of(lam)
        deviation = xp.abs(moments - tau)
        outside = deviation > lam + ROUNDING
        return float(xp.min(xp.where(outside, lam, 1.0) / xp.where(outside, deviation, 1.0)))

    def threshold_of(self, mu: FloatArray) -> float:
        """phi(mu): the largest phi_i, or their mean where the masses of instances are known."""
        return self.marginal.largest_mean(instance_thresholds(self.scores_of(mu)))


# What the bounds ask of a set of distributions. Coefficients are mu on the columns for a box (B x d), and on
# the instances for a ball (B x n).
UncertaintySet: TypeAlias = "Box | Ball"


def upper_bound(
    problem: UncertaintySet, objective: Objective, mu: FloatArray, scores: FloatArray | None = None
) -> float:
    """U(mu) over the whole uncertainty set, from ``scores = problem.scores_of(mu)`` where they are known."""
    if scores is None:
        scores = problem.scores_of(mu)
    return problem.penalty_of(mu) + objective.conjugate(scores)


def upper_bound_of_some(
    problem: Box, objective: Objective, components: IntArray, values: FloatArray
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
    problem: UncertaintySet,
    objective: Objective,
    distribution: FloatArray,
    moments: FloatArray | float | None = None,
) -> FeasiblePoint:
    """L(w), from ``moments = problem.moments_of(distribution)`` where they are known already."""
    theta = problem.share_inside(distribution, moments)
    mixed = theta * distribution + (1.0 - theta) * problem.centre
    return FeasiblePoint(mixed, objective.value(mixed))
