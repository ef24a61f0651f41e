"""From validated training data to the problems that the engines solve and the certificates check.

Problems of parts of the samples, posed from the features of the whole in passes that they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from minimaxrisk._utils.arrays import FloatArray, IntArray
from minimaxrisk.features.dense import DenseFeatures
from minimaxrisk.features.device import DeviceFeatures, features_of_rows
from minimaxrisk.features.implicit import PartOfRows, scaled_parts
from minimaxrisk.features.matrix import ClassMoments, ColumnScale, FeatureMatrix, make_coding
from minimaxrisk.problem import on_device
from minimaxrisk.problem.objective import HingeLoss, KnownMarginal
from minimaxrisk.problem.problem import Problem, build_features, build_problem, problem_with_radii
from minimaxrisk.samples.instances import Instances, distinct_instances
from minimaxrisk.samples.validation import TrainingData
from minimaxrisk.uncertainty.moments import MomentSample, signed_moments
from minimaxrisk.uncertainty.radius import Radii, RadiusRule
from minimaxrisk.uncertainty.rules import MultiplierBootstrap


@dataclass(frozen=True)
class PosedProblem:
    """The problem together with the way back to the caller's rows, and how its radii came about."""

    problem: Problem
    instances: Instances
    radii: Radii

    def with_known_marginal(self) -> PosedProblem:
        """The same set without the distributions that move instances; all must have weight."""
        known = KnownMarginal(self.instances.weights)
        return replace(self, problem=replace(self.problem, marginal=known))

    def rule_for_labellings(self, rule: RadiusRule) -> RadiusRule:
        """The rule, with what it can share among labellings of this problem's rows."""
        if not isinstance(rule, MultiplierBootstrap):
            return rule
        old = self.problem
        nothing = np.zeros_like(old.tau)  # the shared part knows no deviations
        return rule.sharing(
            MomentSample(old.features, self.instances.units, old.coding, old.scale, old.tau, nothing)
        )

    def relabelled(self, relabelled: Sequence[TrainingData], rule: RadiusRule) -> list[PosedProblem]:
        """Problems of the same rows and weights with other labels: the scaled features stay."""
        instances = [self.instances.relabelled(data) for data in relabelled]
        of_instances = all(each.units.shares is None for each in instances)
        is_plain = of_instances and not any(each.units.has_noise_of_its_own for each in instances)
        features = self.problem.features
        if is_plain and self.problem.coding.name == "signed" and isinstance(features, DenseFeatures):
            return self._relabelled_signed(features, instances, rule)
        if is_plain and isinstance(self.problem, on_device.DeviceProblem):
            posed = on_device.relabelled_signed(self.problem, instances, rule)
            if posed is not None:
                return [PosedProblem(*each) for each in posed]
        moments = features.class_moments([each.p_hat for each in instances])
        return [
            self.like_this(features, of_classes, self.problem.scale, each, rule)
            for each, of_classes in zip(instances, moments, strict=True)
        ]

    def like_this(
        self,
        features: FeatureMatrix,
        moments: ClassMoments,
        scale: ColumnScale,
        instances: Instances,
        rule: RadiusRule,
    ) -> PosedProblem:
        """The problem of other data, with the same coding and the same knowledge of the masses."""
        old = self.problem
        problem, radii = build_problem(
            features,
            moments,
            scale=scale,
            instances=instances,
            coding=old.coding,
            rule=rule,
            marginal_is_known=old.marginal.is_known,
        )
        return PosedProblem(problem, instances, radii)

    def _relabelled_signed(
        self, features: DenseFeatures, instances: Sequence[Instances], rule: RadiusRule
    ) -> list[PosedProblem]:
        """Without moments per class, unless the rule asks for them."""
        old = self.problem
        mass, p_hats = self.instances.weights, [each.p_hat for each in instances]
        posed = []
        for each, tau, sigma in zip(
            instances, *signed_moments(features, mass, p_hats, old.coding), strict=True
        ):
            sample = MomentSample(features, each.units, old.coding, old.scale, tau, sigma)
            problem, radii = problem_with_radii(
                features,
                each,
                sample,
                ~(tau.any(axis=0) | sigma.any(axis=0)),
                rule=rule,
                marginal=old.marginal,
            )
            posed.append(PosedProblem(problem, each, radii))
        return posed


def pose(
    data: TrainingData,
    *,
    coding: str,
    rule: RadiusRule,
    standardize: bool,
    fit_intercept: bool,
    copy: bool | str = "auto",
    marginal_is_known: bool = False,
) -> PosedProblem:
    """Merge equal rows, scale the columns, estimate moments, set the radii."""
    instances = distinct_instances(data)
    features, moments, scale = build_features(
        data.X, instances, standardize=standardize, fit_intercept=fit_intercept, copy=copy
    )
    chosen = make_coding(coding, len(data.classes))
    problem, radii = build_problem(
        features,
        moments,
        scale=scale,
        instances=instances,
        coding=chosen,
        rule=rule,
        marginal_is_known=marginal_is_known,
    )
    return PosedProblem(problem, instances, radii)


# The default penalty of the support vector machine, as a fraction of one at which no feature is selected.
PENALTY_FRACTION = 0.01


@dataclass(frozen=True)
class PosedL1SVM:
    """One binary problem, or one for each class against the rest, on the same features.

    The problems are per unit of weight: their values times ``instances.total_weight`` are sums over samples.
    """

    alpha: float
    scale: ColumnScale
    instances: Instances
    binary: tuple[tuple[Problem, HingeLoss], ...]


def pose_l1_svm(
    data: TrainingData,
    *,
    alpha: float | None,
    standardize: bool,
    fit_intercept: bool,
    copy: bool | str = "auto",
) -> PosedL1SVM:
    """Merge equal rows, scale the columns, set the penalty (None: a hundredth of ``max_j sum_i |x_ij|``).

    The penalty is on coefficients of the standardised columns, or without standardisation of the caller's.
    """
    instances = distinct_instances(data)
    # The intercept is free of penalty and has its own place in the hinge loss.
    features, _, scale = build_features(
        data.X, instances, standardize=standardize, fit_intercept=False, copy=copy
    )
    unit = np.ones_like(scale.scale) if standardize else scale.scale
    if alpha is None:
        largest = float(np.max(unit * features.means_of(abs, instances.weights[None])[0]))
        # Columns that are all constant leave nothing to penalise.
        alpha = PENALTY_FRACTION * instances.total_weight * (largest or 1.0)
    lam = (alpha / instances.total_weight / unit)[None, :]
    coding, nothing = make_coding("signed", 2), np.zeros((2, instances.n_instances))

    def against_the_rest(k: int) -> tuple[Problem, HingeLoss]:
        mass = np.stack([np.delete(instances.p_hat, k, axis=0).sum(axis=0), instances.p_hat[k]])
        problem = Problem(features, coding, nothing, np.zeros_like(lam), lam, scale)
        return problem, HingeLoss(mass, fit_intercept)

    classes = range(1, 2) if len(data.classes) == 2 else range(len(data.classes))
    return PosedL1SVM(alpha, scale, instances, tuple(against_the_rest(k) for k in classes))


def pose_parts(
    whole: PosedProblem,
    data: TrainingData,
    parts: Sequence[IntArray],
    *,
    rule: RadiusRule,
    standardize: bool,
    copy: bool | str = "auto",
) -> list[PosedProblem]:
    """What ``pose`` makes of ``data.part(rows)``, to rounding, for the rows of each part.

    ``whole`` is the problem of all rows, posed with the same choices but for the rule. Its dense features
    serve all parts without being copied, and so do those on a device. Sparse ones, and dense ones of groups,
    whose means the radii need, are posed anew.
    """

    def anew(rows: IntArray) -> PosedProblem:
        return pose(
            data.part(rows),
            coding=whole.problem.coding.name,
            rule=rule,
            standardize=standardize,
            fit_intercept=whole.problem.scale.has_intercept,
            copy=copy,
            marginal_is_known=whole.problem.marginal.is_known,
        )

    features = whole.problem.features
    if isinstance(features, DeviceFeatures):
        return [
            _on_the_same_data(whole, features, data, rows, rule=rule, standardize=standardize)
            for rows in parts
        ]
    if not isinstance(features, DenseFeatures) or data.groups is not None:
        return [anew(rows) for rows in parts]
    without_values = replace(data, X=np.empty((len(data.labels), 0)))
    instances, described = [], []
    for rows in parts:
        own, present = whole.instances.of_part(without_values.part(rows), rows)
        lifted = np.zeros((len(own.p_hat), whole.instances.n_instances))
        lifted[:, present] = own.p_hat
        given = partial(_columns_of, data.X, rows[own.rows])
        instances.append(own)
        described.append(PartOfRows(present, lifted, given))
    scaled = scaled_parts(features, whole.problem.scale, described, centre=standardize)
    return [
        anew(rows) if found is None else whole.like_this(*found, own, rule)
        for rows, own, found in zip(parts, instances, scaled, strict=True)
    ]


def _on_the_same_data(
    whole: PosedProblem,
    features: DeviceFeatures,
    data: TrainingData,
    rows: IntArray,
    *,
    rule: RadiusRule,
    standardize: bool,
) -> PosedProblem:
    """Features that are rows of an array on a device are read where they are."""
    without_values = replace(data, X=np.empty((len(data.labels), 0)))
    own, _ = whole.instances.of_part(without_values.part(rows), rows)
    scaled = features_of_rows(
        features.data,
        replace(own, rows=rows[own.rows]),
        standardize=standardize,
        fit_intercept=whole.problem.scale.has_intercept,
    )
    return whole.like_this(*scaled, own, rule)


def _columns_of(X: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    found: FloatArray = X[np.ix_(rows, columns)]
    return found
