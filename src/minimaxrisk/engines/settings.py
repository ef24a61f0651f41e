"""What the caller may choose about the computation."""

from __future__ import annotations

from dataclasses import dataclass

from minimaxrisk._utils.arrays import IntArray

# The gaps at which solvers stop if the caller names none. The exact ones end at a vertex anyway; first-order
# methods pay for every further digit.
GAP_TOL, FIRST_ORDER_GAP_TOL = 1e-6, 1e-3


@dataclass(frozen=True)
class EngineSettings:
    """Choices of which none changes the optimum."""

    solver: str
    initial_features: str | IntArray = "correlation"
    n_max: int = 100
    epsilon: float = 1e-4
    gap_tol: float = GAP_TOL
    first_order_gap_tol: float = FIRST_ORDER_GAP_TOL
    max_iter: int | None = None
