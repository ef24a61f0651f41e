"""What the solvers cost: seconds and bytes, predicted from the sizes of a problem alone.

Nothing is measured when a fit runs, so that the same data take the same solver everywhere. Predictions are
within a factor of two of what was measured on one core, on problems of 100 x 10,000 to 20,000 x 500 entries
and two to ten classes.

**Interior point.** With B blocks of d columns and q constraints per block in the working set, an iteration
forms and factorises the smallest of these matrices: one of n x n for each block and one more (instance side,
``B (n^2 q + n^3)`` operations), or one of all constraints that are used, or of all moments (``n (B q)^2`` or
``n (B d)^2``). Many classes with few columns have factors of their own (``class_blocks``).

**First-order steps.** A step is two products with X. To a gap g they are some ``130 (0.01 / g)^0.6``; texts
take 230 to 940 of them to 1e-3, dense simulated data 230 to 670.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk.engines.class_blocks import TIMES_FEWER, operations_by_blocks
from minimaxrisk.problem.problem import Box

# Operations per second of one core in products and factors of matrices: 0.9e10 to 2.1e10.
OPERATIONS_PER_SECOND = 1.5e10
# Iterations of the interior point with one block and with several, and in the space of moments.
ITERATIONS, ITERATIONS_OF_SEVERAL, ITERATIONS_OF_MOMENTS = 12, 20, 35
# The part of the time by instances that the space of moments may be predicted to take. At .6 to .86 of it
# took .5 to 2 times as long, below that .02 to 1.4 times.
PART = 0.7
# The most moments, numbers of the features, and masses of the space of moments.
MOST_MOMENTS, MOST_ENTRIES, MOST_MASSES = 10_000, 1 << 26, 1 << 21
# First-order steps to the coarse gap, and how they grow with the gap's inverse.
COARSE_GAP, STEPS_TO_COARSE_GAP, STEPS_POWER = 1e-2, 130, 0.6
# Beyond these the work is too much for the interior point: eight gigabytes, or half an hour on one core with
# more than so many instances.
MOST_BYTES, MOST_SECONDS, FEW_INSTANCES = 8e9, 1800.0, 2000


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
    """Predict what the interior point takes from instances, columns and blocks of coefficients."""
    operations = ITERATIONS_OF_SEVERAL * operations_by_instances(n, d, blocks)
    n_numbers = n * min(2 * n, d) + (blocks + 1) * n**2
    if blocks == 1:
        q = n_constraints(n, d, blocks)
        operations = ITERATIONS * min(operations_by_instances(n, d, blocks), n * q**2 + q**3 / 3.0)
        n_numbers = n * min(2 * n, d) + min(n, d) ** 2
    elif moments_find_room(n, d, blocks) and moments_are_cheaper(n, d, blocks):
        # With many classes an iteration is worth 1e4 operations per mass, and takes 40 numbers per mass.
        operations = ITERATIONS_OF_MOMENTS * (_operations_of_moments(n, d, blocks) + 1e4 * n * blocks)
        n_numbers = n * (n + blocks * (d + 40))
    return Demands(n, d, 8.0 * n_numbers, float(operations / OPERATIONS_PER_SECOND))


def n_constraints(n: int, d: int, blocks: int) -> float:
    """Return how many of the nearest constraints a working set takes, per block.

    Fewer make a step cheaper, and too few make steps short. Enough are about as many as are active at the
    optimum: close to n on wide data, and about 0.35 sqrt(n d) on studies of 400 to 1600 instances. Several
    blocks share them: with 3 to 50 classes 0.25 took 7 to 17% less time than 0.4.
    """
    per_root = 0.4 if blocks == 1 else 0.25
    return float(min(d, n + 50, 1.5 * n, per_root * np.sqrt(n * d)))


def operations_by_instances(n: int, d: int, blocks: int) -> float:
    """Predict an iteration of the interior point with matrices of n x n; several blocks take inverses."""
    matrices = blocks * n**2 * n_constraints(n, d, blocks)
    return matrices + (n**3 / 3.0 if blocks == 1 else (blocks + 1) * n**3)


def _operations_of_moments(n: int, d: int, blocks: int) -> float:
    """Predict an iteration in the space of moments, with a matrix for each class or one for all."""
    operations, m = TIMES_FEWER * operations_by_blocks(n, d, blocks), blocks * d
    if m <= MOST_MOMENTS:
        operations = min(operations, n * m**2 * (blocks + 1) / (2.0 * blocks) + m**3 / 3.0)
    return operations


def moments_find_room(n: int, d: int, blocks: int) -> bool:
    """Whether the features and some numbers per mass are not too large for the space of moments."""
    return n * d <= MOST_ENTRIES and n * blocks <= MOST_MASSES


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
    matrix = problem.features.matrix
    passes = matrix.hints.pass_rates
    on_entries = (passes.entry + passes.product * problem.coding.n_blocks) * matrix.n_stored
    return 6e-4 + passes.latency + on_entries + 5e-8 * problem.n_components


def n_steps_to(gap: float) -> float:
    """Predict how many first-order steps a gap takes."""
    return float(STEPS_TO_COARSE_GAP * (COARSE_GAP / gap) ** STEPS_POWER)


def seconds_of_iteration(n: int) -> float:
    """Predict an iteration on n instances of one block and sparse columns.

    A Cholesky factor, and about as much for the matrix.
    """
    return 2.0 * (n**3 / 3.0) / OPERATIONS_PER_SECOND


def is_worth_exactness(problem: Box, gap: float) -> bool:
    """Whether an exact solution is worth its time, where steps to this gap would do.

    It is worth three seconds, or 1.5 times those of the steps.
    """
    exact = interior_point_demands(problem)
    steps = n_steps_to(gap) * seconds_of_step(problem)
    return not exact.are_too_large and exact.seconds <= max(3.0, 1.5 * steps)


def as_duration(seconds: float) -> str:
    """Return seconds, minutes or hours with two digits."""
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 10.0 else f"{seconds:.2g} seconds"
