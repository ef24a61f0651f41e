"""What the solvers cost: seconds and bytes, predicted from the sizes of a problem alone.

Nothing is measured when a fit runs, so that the same data take the same solver everywhere. Predictions are
within a factor of two of what was measured on one core, on problems of 100 x 10,000 to 20,000 x 500 entries
and two to ten classes.

**Interior point.** With B blocks of d columns and q constraints per block in the working set, an iteration
forms and factorises the smallest of these matrices: one of n x n for each block and one more (instance side,
``B (n^2 q + n^3)`` operations), or one of all constraints that are used, or of all moments (``n (B q)^2`` or
``n (B d)^2``).

**First-order steps.** A step is two products with X. To a gap g they are some ``130 (0.01 / g)^0.6`` where
columns are hardly correlated; texts take 230 to 940 of them to 1e-3, dense simulated data 230 to 670. On
correlated columns, such as pixels, they hardly advance, which shows after a hundred of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minimaxrisk.problem.problem import Box


@dataclass(frozen=True)
class Rates:
    """What one core does in a second, and how many iterations the solvers take.

    They were measured on the sizes named above, and are the same on every machine.
    """

    # Operations per second in products and factors of matrices: 0.9e10 to 2.2e10.
    operations: float = 1.5e10
    # Iterations of the interior point with one block: 11 to 17.
    iterations: int = 12
    # With several blocks: 18 to 25.
    iterations_of_several: int = 20
    # In the space of moments: 30 to 40.
    iterations_of_moments: int = 35
    # Operations that each mass is worth in an iteration of the space of moments, with 5 to 1000 classes.
    per_mass: float = 1e4
    # Numbers that the space of moments holds for each mass, counted.
    numbers_per_mass: int = 40
    # Seconds of a first-order step beside its products, and for each coefficient, fitted to 300 x 1000 to
    # 20,000 x 50,000 entries.
    step: float = 6e-4
    per_coefficient: float = 5e-8
    # First-order steps to a gap of 1e-2, and the power of the gap's inverse with which they grow.
    coarse_gap: float = 1e-2
    steps_to_coarse_gap: int = 130
    steps_power: float = 0.6
    # Steps after which it shows whether they advance as predicted, and how many times the predicted gap says
    # that they do not: 16 to 52 on digits, satellite images and beans, at most 9 on simulated data and texts.
    trial: int = 100
    standstill: float = 12.0


@dataclass(frozen=True)
class Limits:
    """How much work is too much, or not worth its time."""

    # Bytes that the interior point may take.
    most_bytes: float = 8e9
    # Half an hour on one core is too long with more than so many instances.
    most_seconds: float = 1800.0
    few_instances: int = 2000
    # The most moments, numbers of the features and masses of the space of moments.
    most_moments: int = 10_000
    most_entries: int = 1 << 26
    most_masses: int = 1 << 21
    # The part of the time by instances that the space of moments may be predicted to take. At .6 to .86 of it
    # took .5 to 2 times as long, below that .02 to 1.4 times.
    part: float = 0.7
    # An exact solution is worth so many seconds, or so many times those of first-order steps. The steps were
    # within a gap of 1e-3 after .4 to .6 times the prediction where the ratio is 1.2.
    few_seconds: float = 3.0
    worth_of_exactness: float = 1.1


RATES, LIMITS = Rates(), Limits()
# The nearest constraints of a working set per block: per root of n d with one block and with several, beyond
# n, and per instance. With 3 to 50 classes 0.25 took 7 to 17% less time than 0.4.
PER_ROOT = 0.4
PER_ROOT_OF_SEVERAL = 0.25
BEYOND_INSTANCES = 50
MOST_PER_INSTANCE = 1.5


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
        is_long = self.seconds > LIMITS.most_seconds and self.n_instances > LIMITS.few_instances
        return is_long or self.n_bytes > LIMITS.most_bytes

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
    operations = RATES.iterations_of_several * operations_by_instances(n, d, blocks)
    n_numbers = n * min(2 * n, d) + (blocks + 1) * n**2
    if blocks == 1:
        q = n_constraints(n, d, blocks)
        operations = RATES.iterations * min(operations_by_instances(n, d, blocks), n * q**2 + q**3 / 3.0)
        n_numbers = n * min(2 * n, d) + min(n, d) ** 2
    elif moments_find_room(n, d, blocks) and moments_are_cheaper(n, d, blocks):
        operations = _operations_of_moments(n, d, blocks) + RATES.per_mass * n * blocks
        operations *= RATES.iterations_of_moments
        n_numbers = (blocks * d) ** 2 + n * (d + blocks * RATES.numbers_per_mass)
    return Demands(n, d, 8.0 * n_numbers, float(operations / RATES.operations))


def n_constraints(n: int, d: int, blocks: int) -> float:
    """Return how many of the nearest constraints a working set takes, per block.

    Fewer make a step cheaper, and too few make steps short. Enough are about as many as are active at the
    optimum: close to n on wide data, and about 0.35 sqrt(n d) on studies of 400 to 1600 instances. Several
    blocks share them.
    """
    per_root = PER_ROOT if blocks == 1 else PER_ROOT_OF_SEVERAL
    return float(min(d, n + BEYOND_INSTANCES, MOST_PER_INSTANCE * n, per_root * np.sqrt(n * d)))


def operations_by_instances(n: int, d: int, blocks: int) -> float:
    """Predict an iteration of the interior point with matrices of n x n; several blocks take inverses."""
    matrices = blocks * n**2 * n_constraints(n, d, blocks)
    return matrices + (n**3 / 3.0 if blocks == 1 else (blocks + 1) * n**3)


def _operations_of_moments(n: int, d: int, blocks: int) -> float:
    """Predict an iteration in the space of moments."""
    m = blocks * d
    return n * m**2 * (blocks + 1) / (2.0 * blocks) + m**3 / 3.0


def moments_find_room(n: int, d: int, blocks: int) -> bool:
    """Return whether the space of moments has room for its matrix, the features and some numbers per mass."""
    is_matrix_small = blocks * d <= LIMITS.most_moments
    return is_matrix_small and n * d <= LIMITS.most_entries and n * blocks <= LIMITS.most_masses


def moments_are_cheaper(n: int, d: int, blocks: int) -> bool:
    """Return whether the space of moments takes less time than matrices of n x n."""
    by_moments = RATES.iterations_of_moments * _operations_of_moments(n, d, blocks)
    by_instances = RATES.iterations_of_several * operations_by_instances(n, d, blocks)
    return by_moments <= LIMITS.part * by_instances


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
    return RATES.step + passes.latency + on_entries + RATES.per_coefficient * problem.n_components


def n_steps_to(gap: float) -> float:
    """Predict how many first-order steps a gap takes."""
    return float(RATES.steps_to_coarse_gap * (RATES.coarse_gap / gap) ** RATES.steps_power)


def gap_of_standstill() -> float:
    """Return the gap after ``RATES.trial`` first-order steps which says that they hardly advance."""
    predicted = RATES.coarse_gap * (RATES.steps_to_coarse_gap / RATES.trial) ** (1.0 / RATES.steps_power)
    return float(RATES.standstill * predicted)


def seconds_of_iteration(n: int) -> float:
    """Predict an iteration on n instances of one block and sparse columns.

    A Cholesky factor, and about as much for the matrix.
    """
    return 2.0 * (n**3 / 3.0) / RATES.operations


def is_worth_exactness(problem: Box, gap: float) -> bool:
    """Return whether an exact solution is worth its time, where steps to this gap would do."""
    exact = interior_point_demands(problem)
    steps = n_steps_to(gap) * seconds_of_step(problem)
    most = max(LIMITS.few_seconds, LIMITS.worth_of_exactness * steps)
    return not exact.are_too_large and exact.seconds <= most


def as_duration(seconds: float) -> str:
    """Return seconds, minutes or hours with two digits."""
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 10.0 else f"{seconds:.2g} seconds"
