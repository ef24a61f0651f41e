"""All that is asked of dask itself; it is imported where a dask array has come, and nowhere else.

Graphs go to whatever scheduler dask would use: threads of this process, or the workers of the client that
was made last. What is kept there is named by tasks, and recomputed from the data by dask if the worker that
held it is lost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minimaxrisk._utils.environment import require

# The share of the workers' free memory up to which chunks are kept there: directions, gathered columns and
# whatever else the workers do need some too.
SHARE_OF_MEMORY = 0.5
# Inputs of one task that adds up: more would bring all chunks of a column to one worker at the same time.
FAN_IN = 8
# Bytes up to which a value is written into each task that takes it. Larger ones travel once to each worker,
# after a message and an answer more.
SMALL = 1 << 16


def is_dask_array(value: Any) -> bool:
    """Whether it is an array of dask's, without importing dask."""
    arrays = sys.modules.get("dask.array")
    return arrays is not None and isinstance(value, arrays.Array)


def here(value: Any) -> Any:
    """Labels, weights and the like, of length n, in this process whatever they were."""
    if type(value).__module__.startswith("dask.") and hasattr(value, "compute"):
        return value.compute()
    return value


def dask_module(name: str) -> Any:
    return require(name, extra="dask", purpose="Dask arrays need")


def lazily(function: Callable[..., Any], *arguments: Any) -> Any:
    """A task; arguments may be tasks and lists of them."""
    return dask_module("dask").delayed(function, pure=False)(*arguments)


def shared(value: Any, n_bytes: int) -> Any:
    """A value that many tasks take: a task of its own where it is large."""
    return value if n_bytes <= SMALL else dask_module("dask").delayed(value, pure=False, traverse=False)


def keep(tasks: Sequence[Any]) -> list[Any]:
    """Have tasks done and their results stay where they are; does not wait where others do the work."""
    return list(dask_module("dask").persist(*tasks))


def keep_values(values: Sequence[Any]) -> list[Any]:
    """Values on the workers, for tasks of many graphs to come."""
    delayed = dask_module("dask").delayed
    return keep([delayed(value, pure=False, traverse=False) for value in values])


def fetch(tasks: Sequence[Any]) -> list[Any]:
    """Results of tasks, in one graph: the one way by which anything comes back, and the one that waits."""
    return list(dask_module("dask").compute(*tasks))


@dataclass(frozen=True)
class Chained:
    """``then(first(...), ...)`` in one task: the first takes so many of the arguments."""

    first: Callable[..., Any]
    n_arguments: int
    then: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        n = self.n_arguments
        return self.then(self.first(*arguments[:n]), *arguments[n:])


def reduce_by_tree(parts: Sequence[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """A task that merges others, a few at a time."""
    parts = list(parts)
    while len(parts) > 1:
        parts = [lazily(merge, parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return parts[0]


def total(parts: list[np.ndarray]) -> np.ndarray:
    """The sum of arrays, none of which is changed: workers keep what they have returned."""
    found = parts[0].copy()
    for part in parts[1:]:
        found += part
    return found


def kept_if_it_fits(X: Any) -> Any:
    """The array with its chunks in the workers' memory, or as it is where they would not fit.

    ``dask.config.set({"minimaxrisk.persist": True})``, or False, decides otherwise.
    """
    wanted = dask_module("dask").config.get("minimaxrisk.persist", None)
    if wanted is None:
        wanted = X.nbytes <= SHARE_OF_MEMORY * _free_memory(X)
    return X.persist() if wanted else X


def _free_memory(X: Any) -> float:
    """Bytes that all workers together have left."""
    client: Any = getattr(dask_module("dask.base").get_scheduler(collections=[X]), "__self__", None)
    if not hasattr(client, "scheduler_info"):
        return float(dask_module("psutil").virtual_memory().available)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    # Workers may have no limit.
    left = ((worker["memory_limit"] or np.inf) - worker["metrics"].get("memory", 0) for worker in workers)
    return float(sum(left))


def is_lost(X: Any) -> bool:
    """Whether chunks were kept by a client that has been closed since, so that nobody has them."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    kept = [value for value in X.__dask_graph__().values() if isinstance(value, distributed.Future)]
    return any(future.status in ("cancelled", "lost") for future in kept)
