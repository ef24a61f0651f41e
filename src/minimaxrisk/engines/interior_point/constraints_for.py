"""Which container of moment constraints goes with a problem."""

from __future__ import annotations

from functools import singledispatch

from minimaxrisk.engines.interior_point import device_factors  # noqa: F401  # registers its factor
from minimaxrisk.engines.interior_point.device_constraints import MomentConstraintsOnDevice
from minimaxrisk.engines.interior_point.moment_constraints import MomentConstraints, MomentConstraintsInMemory
from minimaxrisk.problem.on_device import DeviceProblem
from minimaxrisk.problem.problem import Problem


@singledispatch
def moment_constraints(problem: Problem, *, is_exact: bool = False) -> MomentConstraints:
    """The constraints of a problem, kept where its data are."""
    return MomentConstraintsInMemory(problem, is_exact=is_exact)


@moment_constraints.register
def _(problem: DeviceProblem, *, is_exact: bool = False) -> MomentConstraints:
    return MomentConstraintsOnDevice(problem)
