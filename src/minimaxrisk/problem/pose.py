"""From validated training data to the problems that the engines solve and the certificates check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minimaxrisk._utils.arrays import (
    IntArray,
    asarray_like,
    is_foreign,
    namespace_of,
)
from minimaxrisk.matrices.moments import Coding, make_coding
from minimaxrisk.matrices.scaling import PartOfRows, Scaled, features_of, standardise_parts
from minimaxrisk.matrices.standardised import Standardised
from minimaxrisk.problem.objective import FREE, KnownMarginal, Marginal
from minimaxrisk.problem.problem import Box
from minimaxrisk.problem.rule import AverageRule, LinearRule
from minimaxrisk.samples.instances import Instances, distinct_instances
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.moments import MomentSample, mean_of_phi, moment_sample, signed_moments
from minimaxrisk.uncertainty.radius import Radii, RadiusRule
from minimaxrisk.uncertainty.rules import MultiplierBootstrap

# Products of coefficient and mean from which ``verify``, which compares scores to 1e-9, may see the rounding.
FAR = 1e6


@dataclass(frozen=True)
class PosedBox:
    """The problem together with the way back to the caller's rows, and how its radii came about."""

    problem: Box
    instances: Instances
    radii: Radii

    def columns_far_from_zero(self, rule: LinearRule | AverageRule) -> IntArray:
        """Return the caller's columns in which a rule in the caller's units loses digits.

        It adds ``coef_j x_j`` to an intercept that holds ``-coef_j mean_j``, so that rounding changes scores
        by about ``|coef_j mean_j|`` units in the last place.
        """
        scale = self.problem.scale
        size = rule.use_of_components(scale)[:, scale.n_leading :].max(axis=0)
        inner = np.flatnonzero(size)
        mean, spread = scale.at(inner)
        return scale.columns_of(inner[size[inner] * np.abs(mean) > FAR * spread])

    def with_radii(self, rule: RadiusRule) -> PosedBox:
        """Another set on the same features: one pass for their moments in place of posing the data again."""
        old = self.problem
        (moments,) = old.features.class_moments([self.instances.p_hat])
        scaled = old.features, moments, old.scale
        return self.like_this(scaled, self.instances, rule)

    def rule_for_labellings(self, rule: RadiusRule) -> RadiusRule:
        """The rule, with what it can share among labellings of this problem's rows."""
        if not isinstance(rule, MultiplierBootstrap):
            return rule
        old = self.problem
        nothing = 0.0 * old.tau_on_device  # the shared part knows no deviations
        return rule.sharing(
            MomentSample(
                old.features, self.instances.units, old.coding, old.scale, old.tau_on_device, nothing
            )
        )

    def relabelled(self, relabelled: Sequence[TrainingData], rule: RadiusRule) -> list[PosedBox]:
        """Problems of the same rows and weights with other labels: the scaled features stay."""
        old, instances = self.problem, [self.instances.relabelled(data) for data in relabelled]
        units = [each.units for each in instances]
        is_plain = all(each.shares is None and not each.has_noise_of_its_own for each in units)
        if is_plain and old.coding.name == "signed" and old.features.matrix.hints.can_share:
            return self._relabelled_signed(instances, rule)
        moments = old.features.class_moments([each.p_hat for each in instances])
        return [
            self.like_this((old.features, of_classes, old.scale), each, rule)
            for each, of_classes in zip(instances, moments, strict=True)
        ]

    def _relabelled_signed(self, instances: Sequence[Instances], rule: RadiusRule) -> list[PosedBox]:
        """In two passes for all labellings; moments per class are taken only if the rule asks for them."""
        old, p_hats = self.problem, [each.p_hat for each in instances]
        taus, sigmas = signed_moments(old.features, self.instances.weights, p_hats, old.coding)
        is_empty, posed = (taus == 0.0) & (sigmas == 0.0), []
        for i, each in enumerate(instances):
            tau, sigma = taus[i, :, :], sigmas[i, :, :]
            sample = MomentSample(old.features, each.units, old.coding, old.scale, tau, sigma)
            empty = is_empty[i, :, :]
            posed.append(_with_radii(old.features, each, sample, empty, rule=rule, marginal=old.marginal))
        return posed

    def like_this(self, scaled: Scaled, instances: Instances, rule: RadiusRule) -> PosedBox:
        """The problem of other data, with the same coding and knowledge of the masses."""
        old = self.problem
        return build_problem(scaled, instances, old.coding, rule, marginal_is_known=old.marginal.is_known)


def pose(
    data: TrainingData,
    *,
    coding: str,
    rule: RadiusRule,
    standardize: bool,
    fit_intercept: bool,
    copy: bool | str = "auto",
    marginal_is_known: bool = False,
) -> PosedBox:
    """Merge equal rows, scale the columns, estimate moments, set the radii."""
    instances = distinct_instances(data)
    scaled = features_of(
        data.X,
        instances.rows,
        instances.p_hat,
        standardize=standardize,
        fit_intercept=fit_intercept,
        copy=copy,
    )
    blocks = make_coding(coding, len(data.classes))
    return build_problem(scaled, instances, blocks, rule, marginal_is_known=marginal_is_known)


def pose_by(parameters: Any, data: TrainingData, rule: RadiusRule) -> PosedBox:
    """The problem of a ``MinimaxRiskClassifier`` with these parameters."""
    return pose(
        data,
        coding=parameters.coding,
        rule=rule,
        standardize=parameters.standardize,
        fit_intercept=parameters.fit_intercept,
        copy=parameters.copy,
        marginal_is_known=parameters.marginal == "empirical",
    )


def build_problem(
    scaled: Scaled,
    instances: Instances,
    coding: Coding,
    rule: RadiusRule,
    *,
    marginal_is_known: bool = False,
) -> PosedBox:
    """Estimate the moments of Phi and set the confidence radii."""
    features, moments, scale = scaled
    tau = mean_of_phi(moments, coding)
    sample = moment_sample(features, instances.units, coding=coding, scale=scale, moments=moments, tau=tau)
    is_zero = (moments.mean == 0.0) & (moments.variance == 0.0)
    is_empty = namespace_of(is_zero).all(is_zero, axis=0)
    marginal = KnownMarginal(instances.weights) if marginal_is_known else FREE
    return _with_radii(features, instances, sample, is_empty, rule=rule, marginal=marginal)


def _with_radii(
    features: Standardised,
    instances: Instances,
    sample: MomentSample,
    is_empty: Any,
    *,
    rule: RadiusRule,
    marginal: Marginal,
) -> PosedBox:
    """Set the confidence radii; ``is_empty`` tells the columns of zeros."""
    radii, tau = rule.radii(sample), sample.tau_on_device
    lam = asarray_like(tau, radii.lam) if not is_foreign(radii.lam) else radii.lam
    # A column of zeros constrains nothing. This radius is not mistaken for a tight one.
    lam = namespace_of(tau).where(is_empty, 1.0, lam)
    problem = Box(features, sample.coding, instances.p_hat, tau, lam, sample.scale, marginal)
    return PosedBox(problem, instances, radii)


def pose_parts(
    whole: PosedBox, parameters: Any, data: TrainingData, parts: Sequence[IntArray], rule: RadiusRule
) -> list[PosedBox]:
    """What ``pose_by`` makes of ``data.part(rows)``, to rounding, for the rows of each part.

    ``whole`` is the problem of all rows by the same parameters. Where the data can be read in place
    (``MatrixHints.has_parts``), parts are not copied; others are posed anew.
    """
    features = whole.problem.features
    if not features.matrix.hints.has_parts:
        return [pose_by(parameters, data.part(rows), rule) for rows in parts]
    without_values = replace(data, X=np.empty((len(data.labels), 0)))
    described = [whole.instances.of_part(without_values.part(rows), rows) for rows in parts]
    scaled = standardise_parts(
        features,
        [PartOfRows(present, own.p_hat) for own, present in described],
        centre=parameters.standardize,
    )
    return [whole.like_this(each, own, rule) for each, (own, _) in zip(scaled, described, strict=True)]
