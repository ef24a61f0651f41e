"""Who answers questions about the moment constraints: that depends on where the features are."""

from __future__ import annotations

from functools import singledispatch

from minimaxrisk.engines.interior_point import device_factors  # noqa: F401  # registers its factor
from minimaxrisk.engines.interior_point.constraints_on_dask import MomentConstraintsOnDask
from minimaxrisk.engines.interior_point.device_constraints import MomentConstraintsOnDevice
from minimaxrisk.engines.interior_point.moment_constraints import (
    MomentConstraints,
    MomentConstraintsInMemory,
)
from minimaxrisk.features.dask_features import DaskFeatures
from minimaxrisk.features.device import DeviceFeatures
from minimaxrisk.features.matrix import FeatureMatrix
from minimaxrisk.problem.on_device import DeviceProblem
from minimaxrisk.problem.problem import Problem


def moment_constraints(problem: Problem, *, is_exact: bool = False) -> MomentConstraints:
    """The constraints of a problem, kept beside its features; ``is_exact`` does without rough passes."""
    return _constraints_of(problem.features, problem, is_exact)


@singledispatch
def _constraints_of(features: FeatureMatrix, problem: Problem, is_exact: bool) -> MomentConstraints:
    return MomentConstraintsInMemory(problem, is_exact=is_exact)


@_constraints_of.register
def _constraints_on_dask(features: DaskFeatures, problem: Problem, is_exact: bool) -> MomentConstraints:
    return MomentConstraintsOnDask(problem, features)


@_constraints_of.register
def _constraints_on_device(
    features: DeviceFeatures, problem: DeviceProblem, is_exact: bool
) -> MomentConstraints:
    return MomentConstraintsOnDevice(problem)
