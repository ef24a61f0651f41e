"""What the caller may choose about the computation."""

from __future__ import annotations

from dataclasses import dataclass

from minimaxrisk._utils.arrays import IntArray


@dataclass(frozen=True)
class EngineSettings:
    """Choices of which none changes the optimum."""

    solver: str
    initial_features: str | IntArray = "correlation"
    n_max: int = 100
    epsilon: float = 1e-4
    gap_tol: float = 1e-6
    max_iter: int | None = None
