"""Named choices as types: what type checkers know and what a fit accepts come from the same list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from minimaxrisk._utils.sklearn_private import StrOptions

Auto: TypeAlias = Literal["auto"]
Balanced: TypeAlias = Literal["balanced"]
ChosenRadius: TypeAlias = Literal["one-se", "best"]
Coding: TypeAlias = Literal["auto", "signed", "one-hot"]
ComputedKernel: TypeAlias = Literal["linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "chi2"]
Gamma: TypeAlias = Literal["scale", "auto"]
InitialFeatures: TypeAlias = Literal["correlation", "first-order"]
KernelName: TypeAlias = Literal[ComputedKernel, "precomputed"]
Marginal: TypeAlias = Literal["free", "empirical"]
RadiusOfBall: TypeAlias = Literal["bootstrap"]
RadiusOfBox: TypeAlias = Literal["bootstrap"]
Rule: TypeAlias = Literal["predict", "randomized"]
Select: TypeAlias = Literal["in-out", "as-printed"]
SolverName: TypeAlias = Literal[
    "auto",
    "interior-point",
    "first-order",
    "constraint-generation",
    "constraint-and-column-generation",
    "full-lp",
]
WeightKind: TypeAlias = Literal["auto", "counts", "importance"]

# NumPy's ArrayLike would not do: it takes a string, so that a misspelt name would pass.
Numbers: TypeAlias = np.ndarray | Sequence[float] | Sequence[Sequence[float]]
Radius: TypeAlias = float | RadiusOfBox | Numbers
ClassWeight: TypeAlias = Mapping[Any, float] | Balanced | None
Kernel: TypeAlias = KernelName | Callable[[Any, Any], Any]


def one_of(names: Any) -> StrOptions:
    """The constraint on a parameter that is one of these names."""
    return StrOptions(set(get_args(names)))
