"""What the solvers cost: seconds and bytes, predicted from the sizes of a problem alone.

Nothing is measured when a fit runs, so that the same data take the same solver everywhere. Predictions are
within a factor of two of what was measured on one core, on problems of 100 x 10,000 to 20,000 x 500 entries
and two to ten classes; what is compared with them differs by more.

**Interior point.** With B blocks of d columns and q constraints per block in the working set, an iteration
forms and factorises the smallest of these matrices: one of n x n for each block and one more (instance side,
``B (n^2 q + n^3)`` operations), or one of all constraints that are used, or of all moments (``n (B q)^2`` or
``n (B d)^2``).

**First-order steps.** A step is two products with X. To a gap g they are some ``130 (0.01 / g)^0.6``; texts
take 230 to 940 of them to 1e-3, dense simulated data 230 to 670.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk.problem.problem import Box

# Operations per second of one core in products and factors of matrices: 0.9e10 to 2.1e10.
OPERATIONS_PER_SECOND = 1.5e10
# Iterations of the interior point with one block and with several, and in the space of moments.
ITERATIONS, ITERATIONS_OF_SEVERAL, ITERATIONS_OF_MOMENTS = 12, 20, 35
# Constraints in a working set: per sqrt(n d) with one block and with several, beyond n, and per instance.
PER_ROOT, PER_ROOT_OF_SEVERAL, MORE, MOST_PER_INSTANCE = 0.4, 0.25, 50, 1.5
# The part of the time by instances that the space of moments may be predicted to take. At .6 to .86 of it
# took .5 to 2 times as long, below that .02 to 1.4 times.
PART = 0.7
# With many classes, the operations that each mass is worth in an iteration, and numbers per mass.
OPERATIONS_PER_MASS, NUMBERS_PER_MASS = 1e4, 40
# The most moments, numbers of the features, and masses of the space of moments.
MOST_MOMENTS, MOST_ENTRIES, MOST_MASSES = 10_000, 1 << 26, 1 << 21
# First-order steps to the coarse gap, and how they grow with the gap's inverse.
COARSE_GAP, STEPS_TO_COARSE_GAP, STEPS_POWER = 1e-2, 130, 0.6
# Seconds of a first-order step, alone and for each coefficient.
STEP, PER_COEFFICIENT = 6e-4, 5e-8
# Beyond these the work is too much for the interior point: eight gigabytes, or half an hour on one core.
MOST_BYTES, MOST_SECONDS = 8e9, 1800.0
# Up to this many instances the work is never too much, unless so many classes have a matrix each that they
# find no room.
FEW_INSTANCES = 2000
# Where nobody asked for a gap: an exact solution is worth this many times the seconds of steps to a gap of
# 1e-3, and never fewer seconds.
WORTH_OF_EXACTNESS, FEW_SECONDS = 1.5, 3.0


@dataclass(frozen=True)
class Demands:
    """Memory and time on one core that the interior point would need."""

    n_instances: int
    n_columns: int
    n_bytes: float
    seconds: float

    @property
    def are_too_large(self) -> bool:
        """Whether nobody should wait for it, or it finds no room."""
        is_long = self.seconds > MOST_SECONDS and self.n_instances > FEW_INSTANCES
        return is_long or self.n_bytes > MOST_BYTES

    def __str__(self) -> str:
        return (
            f"about {self.n_bytes / 1e9:.2g} GB and {as_duration(self.seconds)} on one core "
            f"({self.n_instances} instances, {self.n_columns} columns)"
        )


def interior_point_demands(problem: Box) -> Demands:
    """Predict what the interior point takes."""
    return demands_of_sizes(*problem.features.shape, problem.coding.n_blocks)


def demands_of_sizes(n: int, d: int, blocks: int) -> Demands:
    """Predict the same from instances, columns and blocks of coefficients."""
    operations = ITERATIONS_OF_SEVERAL * operations_by_instances(n, d, blocks)
    n_numbers = n * min(2 * n, d) + (blocks + 1) * n**2
    if blocks == 1:
        q = n_constraints(n, d, blocks)
        operations = ITERATIONS * min(operations_by_instances(n, d, blocks), n * q**2 + q**3 / 3.0)
        n_numbers = n * min(2 * n, d) + min(n, d) ** 2
    elif moments_find_room(n, d, blocks) and moments_are_cheaper(n, d, blocks):
        operations = _operations_of_moments(n, d, blocks) + OPERATIONS_PER_MASS * n * blocks
        operations *= ITERATIONS_OF_MOMENTS
        n_numbers = (blocks * d) ** 2 + n * (d + blocks * NUMBERS_PER_MASS)
    return Demands(n, d, 8.0 * n_numbers, float(operations / OPERATIONS_PER_SECOND))


def n_constraints(n: int, d: int, blocks: int) -> float:
    """The nearest constraints that a working set takes, per block.

    Fewer make a step cheaper, and too few make steps short. Enough are about as many as are active at the
    optimum: close to n on wide data, and about 0.35 sqrt(n d) on simulated studies of 400 to 1600 instances.
    Several blocks share the active ones: with 3 to 50 classes 0.25 took 7 to 17% less time than 0.4.
    """
    per_root = PER_ROOT if blocks == 1 else PER_ROOT_OF_SEVERAL
    return float(min(d, n + MORE, MOST_PER_INSTANCE * n, per_root * np.sqrt(n * d)))


def operations_by_instances(n: int, d: int, blocks: int) -> float:
    """Predict an iteration of the interior point with matrices of n x n; several blocks take inverses."""
    matrices = blocks * n**2 * n_constraints(n, d, blocks)
    return matrices + (n**3 / 3.0 if blocks == 1 else (blocks + 1) * n**3)


def _operations_of_moments(n: int, d: int, blocks: int) -> float:
    """Predict an iteration in the space of moments."""
    m = blocks * d
    return n * m**2 * (blocks + 1) / (2.0 * blocks) + m**3 / 3.0


def moments_find_room(n: int, d: int, blocks: int) -> bool:
    """Whether the space of moments has room for its matrix, the features and some numbers per mass."""
    return blocks * d <= MOST_MOMENTS and n * d <= MOST_ENTRIES and n * blocks <= MOST_MASSES


def moments_are_cheaper(n: int, d: int, blocks: int) -> bool:
    """Whether the space of moments takes less time than matrices of n x n."""
    by_moments = ITERATIONS_OF_MOMENTS * _operations_of_moments(n, d, blocks)
    return by_moments <= PART * ITERATIONS_OF_SEVERAL * operations_by_instances(n, d, blocks)


def refuse_too_large(problem: Box, argument: str, remedy: str) -> None:
    """Raise an error instead of hours of silence."""
    demands = interior_point_demands(problem)
    if demands.are_too_large:
        raise ValueError(f"{argument} would take {demands}, which is too much; {remedy}.")


def seconds_of_step(problem: Box) -> float:
    """Predict a first-order step."""
    features, n_blocks = problem.features, problem.coding.n_blocks
    passes = features.matrix.hints.pass_rates
    per_entry = passes.entry + passes.product * n_blocks
    return (
        STEP + passes.latency + per_entry * features.matrix.n_stored + PER_COEFFICIENT * problem.n_components
    )


def n_steps_to(gap: float) -> float:
    """Predict how many first-order steps a gap takes."""
    return float(STEPS_TO_COARSE_GAP * (COARSE_GAP / gap) ** STEPS_POWER)


def seconds_of_iteration(n: int) -> float:
    """Predict an iteration on n instances of one block and sparse columns.

    A Cholesky factor, and about as much for the matrix.
    """
    return 2.0 * (n**3 / 3.0) / OPERATIONS_PER_SECOND


def is_worth_exactness(problem: Box, gap: float) -> bool:
    """Whether an exact solution is worth its time, where steps to this gap would do."""
    exact = interior_point_demands(problem)
    if exact.are_too_large:
        return False
    steps = n_steps_to(gap) * seconds_of_step(problem)
    return exact.seconds <= max(FEW_SECONDS, WORTH_OF_EXACTNESS * steps)


def as_duration(seconds: float) -> str:
    """Return seconds, minutes or hours with two digits."""
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 10.0 else f"{seconds:.2g} seconds"
