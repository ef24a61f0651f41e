"""How many threads the linear algebra uses: the caller's choice, or one where more would only wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

# NumPy and SciPy bring a BLAS each, whose idle threads keep a core busy waiting. Measured on two cores,
# one thread is faster up to here (1,600 instances: by a quarter; 100: by two thirds).
ONE_THREAD_BELOW = 2000


@contextmanager
def suitable_threads(n_instances: int) -> Iterator[None]:
    """Within it BLAS uses one thread if the matrices of n x n are small, else what the caller has set.

    The setting belongs to the process, so that fits in concurrent threads should run under a limit of the
    caller's own, as for other users of threadpoolctl.
    """
    if n_instances >= ONE_THREAD_BELOW:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Finding the libraries takes milliseconds and their number does not change after import."""
    return ThreadpoolController()
