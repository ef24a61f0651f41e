"""What the interior point would take for a problem, before it starts: memory and time, roughly.

Let s be the smaller of n and the number of columns, the side of the matrices that are factorised, and g the
columns that a Newton matrix gathers, at most two per instance. Per block of coefficients an iteration gathers
n g numbers, forms a matrix from them with n g s operations and factorises it with s^3 / 3. The one-hot coding
has one matrix more. So memory is 8 (n g + factors s^2) bytes, and work some 25 iterations of the above.

The estimate of time was within a factor of two of what was measured on one core: simulated studies of
1000 x 10,000, 2000 x 10,000 and 5000 x 300, texts of the first two sizes, and with the one-hot coding of
1000 x 5000. It depends on the problem and not on the machine, so that the same data get the same solver
everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from minimaxrisk.problem.problem import Problem

# Operations per second of one core in products of large matrices, and iterations.
OPERATIONS_PER_SECOND, ITERATIONS = 1.5e10, 25
BYTES = 8
# Beyond these the work is too much: half an hour on one core, eight gigabytes.
MOST_SECONDS, MOST_BYTES = 1800.0, 8e9
# So few instances are never too many: all their matrices together are small.
FEW_INSTANCES = 2000


@dataclass(frozen=True)
class Demands:
    """Memory and time on one core that the interior point would need."""

    n_instances: int
    n_columns: int
    n_bytes: float
    seconds: float

    @property
    def are_too_large(self) -> bool:
        is_large = self.seconds > MOST_SECONDS or self.n_bytes > MOST_BYTES
        return is_large and self.n_instances > FEW_INSTANCES

    def __str__(self) -> str:
        return (
            f"about {self.n_bytes / 1e9:.2g} GB and {as_duration(self.seconds)} on one core "
            f"({self.n_instances} instances, {self.n_columns} columns)"
        )


def interior_point_demands(problem: Problem) -> Demands:
    """The estimate for a problem; nothing is computed but products of its sizes."""
    return demands_of_sizes(*problem.features.shape, problem.coding.n_blocks)


def demands_of_sizes(n: int, d: int, blocks: int) -> Demands:
    """The same before the problem is there: instances, columns, blocks of coefficients."""
    factors = 1 if blocks == 1 else blocks + 1
    side, gathered = min(n, d), min(2 * n, d)
    operations = factors * (n * gathered * side + side**3 / 3)
    return Demands(
        n_instances=n,
        n_columns=d,
        n_bytes=float(BYTES * (n * gathered + factors * side**2)),
        seconds=ITERATIONS * operations / OPERATIONS_PER_SECOND,
    )


def refuse_too_large(problem: Problem, argument: str, remedy: str) -> None:
    """An error instead of hours of silence."""
    demands = interior_point_demands(problem)
    if demands.are_too_large:
        raise ValueError(f"{argument} would take {demands}, which is too much; {remedy}.")


def as_duration(seconds: float) -> str:
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.2g} seconds"
