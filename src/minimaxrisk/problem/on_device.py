"""The problem of features on a device: tau and lambda are there too, and questions are answered there.

Copies for engines that know NumPy alone are made when they ask for ``tau`` or ``lam``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray, beside, namespace_of, put_columns, to_numpy
from minimaxrisk.features.dense import ENOUGH_VARIANCE
from minimaxrisk.features.device import DeviceFeatures, within_classes
from minimaxrisk.features.matrix import ClassMoments, Coding, ColumnScale
from minimaxrisk.problem.objective import FREE, KnownMarginal, Marginal
from minimaxrisk.problem.problem import ROUNDING, ROUNDING_FRACTION, Problem, build_problem
from minimaxrisk.samples.instances import Instances
from minimaxrisk.uncertainty.moments import MomentSample
from minimaxrisk.uncertainty.radius import SMALLEST_RADIUS, Radii, RadiusRule
from minimaxrisk.uncertainty.rules import Multiple


class DeviceProblem(Problem):
    """A ``Problem`` whose ``tau_there`` and ``lam_there`` (B x d) live beside the data."""

    features: DeviceFeatures
    tau_there: Any
    lam_there: Any

    def __init__(  # noqa: PLR0917  # as of Problem
        self,
        features: DeviceFeatures,
        coding: Coding,
        centre: FloatArray,
        tau: Any,
        lam: Any,
        scale: ColumnScale,
        marginal: Marginal = FREE,
    ) -> None:
        self.__dict__.update(
            features=features,
            coding=coding,
            centre=centre,
            tau_there=beside(features.data, tau) if isinstance(tau, np.ndarray) else tau,
            lam_there=beside(features.data, lam) if isinstance(lam, np.ndarray) else lam,
            scale=scale,
            marginal=marginal,
        )

    @property
    def iterations_are_cheap(self) -> bool:
        return True

    @cached_property
    def tau(self) -> FloatArray:
        return to_numpy(self.tau_there)

    @cached_property
    def lam(self) -> FloatArray:
        return to_numpy(self.lam_there)

    @property
    def tau_and_lam(self) -> tuple[Any, Any]:
        return self.tau_there, self.lam_there

    @property
    def smallest_radius(self) -> float:
        return float(self.features.xp.min(self.lam_there))

    def penalty_of(self, mu: FloatArray) -> float:
        components = np.flatnonzero(mu)
        return self._penalty(components, mu.ravel()[components])

    def penalty_and_scores(self, components: IntArray, values: FloatArray) -> tuple[float, FloatArray]:
        n_blocks, d = self.shape
        columns, place = np.unique(components % d, return_inverse=True)
        coefficients = np.zeros((n_blocks, len(columns)))
        coefficients[components // d, place] = values
        scores = self.coding.scores(self.features.combine_some(columns, coefficients))
        return self._penalty(components, values), scores

    def _penalty(self, components: IntArray, values: FloatArray) -> float:
        lam, tau = self.at(components, self.lam_there, self.tau_there)
        return float(lam @ np.abs(values) - tau @ values)

    def at(self, components: IntArray, *vectors: Any) -> FloatArray:
        """Entries of vectors on the device (B x d or their length), brought here together."""
        xp, place = self.features.xp, beside(self.features.data, components)
        return to_numpy(xp.stack([xp.take(xp.reshape(vector, (-1,)), place) for vector in vectors]))

    def share_inside(self, distribution: FloatArray, moments: FloatArray | float | None = None) -> float:
        xp, lam = self.features.xp, self.lam_there
        if moments is None:
            there = self.features.correlate_there(self.coding.encode(distribution))
        elif isinstance(moments, float):
            there = moments
        else:
            there = beside(self.features.data, moments)
        deviation = xp.abs(there - self.tau_there)
        slack = xp.where(lam >= SMALLEST_RADIUS, ROUNDING, ROUNDING_FRACTION * lam)
        return float(xp.min(xp.where(deviation > lam + slack, lam / deviation, 1.0)))


@dataclass(frozen=True)
class DeviceMomentSample(MomentSample):
    """A sample whose vectors live beside the data; what a plain multiple of standard errors asks for."""

    @property
    def n_features_varying(self) -> int:
        xp = namespace_of(self.sigma)
        return int(xp.sum(xp.astype(self.sigma[:, self.scale.n_leading :] > 0.0, xp.int64)))

    def on_host(self) -> MomentSample:
        """The same for rules that know NumPy alone."""
        moments, spread = (
            ClassMoments(each.prior, to_numpy(each.mean), to_numpy(each.variance))
            for each in (self.moments, self.spread)
        )
        tau, sigma = to_numpy(self.tau), to_numpy(self.sigma)
        return MomentSample(self.features, self.units, self.coding, self.scale, tau, sigma, (moments, spread))


@build_problem.register
def build_device_problem(
    features: DeviceFeatures,
    moments: ClassMoments,
    *,
    scale: ColumnScale,
    instances: Instances,
    coding: Coding,
    rule: RadiusRule,
    marginal_is_known: bool = False,
) -> tuple[Problem, Radii]:
    """Estimate the moments of Phi and set the confidence radii."""
    xp, units, of_units, spread = features.xp, instances.units, features, moments
    tau, known = _mean_of_phi(moments, coding), moments
    if units.shares is not None:
        of_units = features.averaged(units.shares)
        known = spread = of_units.class_moments([units.p_hat])[0]
    if units.has_noise_of_its_own:
        spread = of_units.class_moments([units.noise])[0]
    sigma = _deviation_of_phi(tau, spread, coding)
    sample = DeviceMomentSample(of_units, units, coding, scale, tau, sigma, (known, spread))
    radii = rule.radii(sample if _is_plain(rule, sample) else sample.on_host())
    is_empty = ~(xp.any(moments.mean != 0.0, axis=0) | xp.any(moments.variance != 0.0, axis=0))
    lam = beside(tau, radii.lam) if isinstance(radii.lam, np.ndarray) else radii.lam
    # A column of zeros constrains nothing; any radius will do, and this one is not taken for a tight one.
    lam = xp.where(is_empty, 1.0, lam)
    marginal = KnownMarginal(instances.weights) if marginal_is_known else FREE
    return DeviceProblem(features, coding, instances.p_hat, tau, lam, scale, marginal), radii


def _is_plain(rule: RadiusRule, sample: DeviceMomentSample) -> bool:
    """Whether the rule is a factor that nobody could take for one that covers."""
    return isinstance(rule, Multiple) and rule.intercept_level is None and rule.is_too_small(sample)


def _mean_of_phi(moments: ClassMoments, coding: Coding) -> Any:
    return beside(moments.mean, coding.matrix * moments.prior) @ moments.mean


def _deviation_of_phi(tau: Any, moments: ClassMoments, coding: Coding) -> Any:
    """As ``uncertainty.moments.deviation_of_phi``: sums of terms that are not negative."""
    rows = []
    for b, code in enumerate(coding.matrix.tolist()):
        square = 0.0 * tau[b, :]
        for k, (share, c) in enumerate(zip(moments.prior.tolist(), code, strict=True)):
            off = c * moments.mean[k, :] - tau[b, :]
            square = square + share * (c**2 * moments.variance[k, :] + off * off)
        rows.append(square)
    xp = namespace_of(tau)
    return xp.sqrt(xp.stack(rows))


def relabelled_signed(
    old: DeviceProblem, instances: Sequence[Instances], rule: RadiusRule
) -> list[tuple[DeviceProblem, Instances, Radii]] | None:
    """The problem with other labels of the same masses, in passes for all; see ``signed_moments``.

    None for the one-hot coding, and for rules that want to know more than standard deviations.
    """
    is_plain = isinstance(rule, Multiple) and rule.confidence is None and rule.intercept_level is None
    if old.coding.name != "signed" or not is_plain:
        return None
    features, xp = old.features, old.features.xp
    mass, p_hats = instances[0].weights, [each.p_hat for each in instances]
    square = beside(features.data, features.means_of(_square, mass[None]))
    tau = features.correlate_there(np.concatenate([old.coding.encode(p_hat) for p_hat in p_hats]))
    variance = square - tau * tau
    is_lossy = variance < ENOUGH_VARIANCE * square
    sigma = xp.sqrt(xp.where(variance > 0.0, variance, 0.0))
    for i in np.flatnonzero(to_numpy(xp.any(is_lossy, axis=1))).tolist():
        lossy = np.flatnonzero(to_numpy(is_lossy[i, :]))
        moments = ClassMoments(
            p_hats[i].sum(axis=1), *within_classes(features.columns_there(lossy), p_hats[i])
        )
        own = xp.take(tau[i : i + 1, :], beside(tau, lossy), axis=1)
        put_columns(sigma[i : i + 1, :], lossy, _deviation_of_phi(own, moments, old.coding))
    is_empty = ~(xp.any(tau != 0.0, axis=0) | (square[0, :] != 0.0))
    posed = []
    for i, each in enumerate(instances):
        own_tau, own_sigma = tau[i : i + 1, :], sigma[i : i + 1, :]
        sample = DeviceMomentSample(features, each.units, old.coding, old.scale, own_tau, own_sigma)
        radii = rule.radii(sample)
        lam = xp.where(is_empty, 1.0, radii.lam)
        problem = DeviceProblem(features, old.coding, each.p_hat, own_tau, lam, old.scale, old.marginal)
        posed.append((problem, each, radii))
    return posed


def _square(values: Any) -> Any:
    return values * values
