"""Calls of dask. It is imported only if the user has passed a dask array.

Graphs run on dask's current scheduler: threads of this process, or the workers of the latest client. Values
kept on workers are results of tasks, which dask recomputes if a worker is lost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minimaxrisk._utils.environment import require

# Chunks are kept on the workers up to this share of their free memory; other work needs the rest.
SHARE_OF_MEMORY = 0.5
# Inputs of one task of a sum. More would bring all chunks of a column to one worker at the same time.
FAN_IN = 8
# Up to so many bytes a value is written into each task that uses it. A larger one is sent once to each
# worker, which takes one more exchange of messages.
SMALL = 1 << 16


def is_dask_array(value: Any) -> bool:
    """Whether it is a dask array; does not import dask."""
    arrays = sys.modules.get("dask.array")
    return arrays is not None and isinstance(value, arrays.Array)


def computed(value: Any) -> Any:
    """A dask object computed, anything else unchanged."""
    if type(value).__module__.startswith("dask.") and hasattr(value, "compute"):
        return value.compute()
    return value


def dask_module(name: str) -> Any:
    return require(name, extra="dask", purpose="Dask arrays need")


def lazily(function: Callable[..., Any], *arguments: Any) -> Any:
    """A task; arguments may be tasks and lists of them."""
    return dask_module("dask").delayed(function, pure=False)(*arguments)


def shared(value: Any, n_bytes: int) -> Any:
    """A value that many tasks use; a task of its own if it is large."""
    return value if n_bytes <= SMALL else dask_module("dask").delayed(value, pure=False, traverse=False)


def fetch(tasks: Sequence[Any]) -> list[Any]:
    """Results of tasks, computed in one graph. This is the only function that waits for the workers."""
    return list(dask_module("dask").compute(*tasks))


def reduce_by_tree(parts: Sequence[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """A task that merges others, a few at a time."""
    parts = list(parts)
    while len(parts) > 1:
        parts = [lazily(merge, parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return parts[0]


def total(parts: list[np.ndarray]) -> np.ndarray:
    """The sum of arrays, which are not changed because workers keep them."""
    found = parts[0].copy()
    for part in parts[1:]:
        found += part
    return found


def kept_if_it_fits(X: Any) -> Any:
    """The array with its chunks in the memory of the workers, or unchanged if they would not fit.

    The user can decide with ``dask.config.set({"minimaxrisk.persist": True})``, or False.
    """
    wanted = dask_module("dask").config.get("minimaxrisk.persist", None)
    if wanted is None:
        wanted = X.nbytes <= SHARE_OF_MEMORY * _free_memory(X)
    return X.persist() if wanted else X


def _free_memory(X: Any) -> float:
    """Free memory of all workers together, in bytes."""
    client: Any = getattr(dask_module("dask.base").get_scheduler(collections=[X]), "__self__", None)
    if not hasattr(client, "scheduler_info"):
        return float(dask_module("psutil").virtual_memory().available)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    # Workers may have no limit.
    left = ((worker["memory_limit"] or np.inf) - worker["metrics"].get("memory", 0) for worker in workers)
    return float(sum(left))


def is_lost(X: Any) -> bool:
    """Whether chunks were kept by a client that has been closed."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    kept = [value for value in X.__dask_graph__().values() if isinstance(value, distributed.Future)]
    return any(future.status in ("cancelled", "lost") for future in kept)
